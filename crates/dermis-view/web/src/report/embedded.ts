// Embedded data of a report as a source of the viewer.

import { Bundle } from "../bundle";
import type { AssetInfo, FrameErrors, RankMeasures, SceneInfo, Source } from "../source";

export interface FitFacts {
  label: string;
  file_bytes: number | null;
  measures: RankMeasures;
  by_rank: RankMeasures[];
  rms_by_frame: number[];
  max_by_frame: number[];
  histogram: number[];
  histogram_high: number;
  points_by_influences: number[];
  mean_influences: number;
  largest_sum_error: number;
  negative_weights: number;
  bones: { name: string; points: number; weight: number }[];
}

export interface Facts {
  title: string;
  version: string;
  sequence: string;
  points: number;
  triangles: number;
  frames: number;
  fps: number;
  unit: string;
  fits: FitFacts[];
  frame_step: number;
}

export interface ReportData {
  facts: Facts;
  view: { info: AssetInfo; mesh: string; clip: string | null; frames: string | null }[];
}

export class EmbeddedSource implements Source {
  constructor(private readonly data: ReportData) {}

  async scene(): Promise<SceneInfo> {
    const assets = this.data.view.map((asset) => asset.info);
    return { version: this.data.facts.version, assets, paint: null, output: null, droppable: [], upload_limit: 0, session: "", revision: 0 };
  }

  async mesh(asset: number): Promise<Bundle> {
    return decoded(this.data.view[asset]?.mesh);
  }

  async clip(asset: number): Promise<Bundle> {
    return decoded(this.data.view[asset]?.clip);
  }

  /** Returns all frames for any request, since they are in memory. */
  async frames(asset: number): Promise<Bundle> {
    return decoded(this.data.view[asset]?.frames);
  }

  async measures(asset: number, _clip: number, rank: number): Promise<RankMeasures | null> {
    const fit = this.data.facts.fits[asset - 1];
    return fit?.by_rank.findLast((measures) => measures.rank <= rank) ?? null;
  }

  async pointErrors(): Promise<number[] | null> {
    return null;
  }

  async surface(): Promise<null> {
    return null;
  }

  /** Errors at full rank, thinned out like the frames. */
  async frameErrors(asset: number, _clip: number, rank: number): Promise<FrameErrors | null> {
    const { fits, frame_step } = this.data.facts;
    const fit = fits.find((_, at) => at === asset - 1);
    if (fit?.measures.rank !== rank) return null;
    const thinned = (values: number[]): number[] => values.filter((_, at) => at % frame_step === 0);
    return { rms: thinned(fit.rms_by_frame), max: thinned(fit.max_by_frame) };
  }
}

function decoded(text: string | null | undefined): Bundle {
  const letters = atob(text ?? "");
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Bundle(bytes.buffer);
}
