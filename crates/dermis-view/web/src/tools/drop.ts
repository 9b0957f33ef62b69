// Files dropped on the page, which the server reads and adds to the assets.

import type { SceneInfo, ServerSource } from "../source";

/** Accepts dropped files. Returns a function that adds files in other ways. */
export function acceptDrops(
  scene: SceneInfo,
  source: ServerSource,
  added: (asset: number) => Promise<void>,
  say: (text: string, isError?: boolean) => void,
): (files: File[]) => Promise<void> {
  window.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  window.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    void take([...(event.dataTransfer?.files ?? [])]);
  });

  /** Reason why a file cannot be added, or `null`. */
  const obstacle = (file: File): string | null => {
    const extension = file.name.split(".").pop()?.toLowerCase() ?? "";
    if (!scene.droppable.includes(extension)) return `${file.name}: drop files of type ${scene.droppable.join(" ")}`;
    if (file.size > scene.upload_limit) return `${file.name} is larger than ${Math.round(scene.upload_limit / 1e6)} MB`;
    return null;
  };
  const take = async (files: File[]): Promise<void> => {
    let count = 0;
    for (const file of files) {
      const reason = obstacle(file);
      if (reason) {
        say(reason, true);
        continue;
      }
      say(`Reading ${file.name} …`);
      try {
        await added(await source.drop(file));
        say(`${file.name} added`);
        count++;
      } catch (error) {
        say(`${file.name}: ${(error as Error).message}`, true);
      }
    }
    if (files.length > 1) say(`${count} of ${files.length} files added`, count < files.length);
  };
  return take;
}
