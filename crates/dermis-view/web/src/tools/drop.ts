// Files dropped on the page, which the server reads and adds to the assets.

import type { SceneInfo, ServerSource } from "../source";

export function acceptDrops(
  scene: SceneInfo,
  source: ServerSource,
  added: (asset: number) => Promise<void>,
  say: (text: string) => void,
): void {
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

  const take = async (files: File[]): Promise<void> => {
    for (const file of files) {
      const extension = file.name.split(".").pop()?.toLowerCase() ?? "";
      if (!scene.droppable.includes(extension)) say(`${file.name}: drop files of type ${scene.droppable.join(" ")}`);
      else if (file.size > scene.upload_limit)
        say(`${file.name} is larger than ${Math.round(scene.upload_limit / 1e6)} MB`);
      else {
        say(`Reading ${file.name} …`);
        try {
          await added(await source.drop(file));
          say(`${file.name} added`);
        } catch (error) {
          say(`${file.name}: ${(error as Error).message}`);
        }
      }
    }
  };
}
