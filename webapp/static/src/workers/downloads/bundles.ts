/** Reads a bundle's manifest, and its files as they are needed. */

import type { Bundle, SignatureName } from "../../core/data/bundle";
import { later, UserError } from "../../core/user-messages";
import type { GraphFiles } from "../../engine/graph";
import { fetchBlob } from "./blobs";

/** A bundle on the server; files are fetched on demand. */
export interface BundleSource {
  readonly bundle: Bundle;
  readonly graphFiles: (signature: SignatureName) => Promise<GraphFiles>;
}

const FORMAT = "minga-bundle/2";

export async function openBundle(origin: string, sha256: string): Promise<BundleSource> {
  const bundle = JSON.parse(new TextDecoder().decode(await fetchBlob(origin, sha256))) as Bundle;
  if (bundle.format !== FORMAT) {
    throw new UserError(
      later("This page reads bundles of format %(known)s, the task has %(found)s. Reload the page.", {
        known: FORMAT,
        found: String(bundle.format),
      }),
    );
  }
  const fetchFile = (path: string): Promise<Uint8Array<ArrayBuffer>> => {
    const file = bundle.files[path];
    if (file === undefined)
      throw new UserError(
        later("The task's bundle lacks the file %(path)s; ask its owner to convert again.", { path }),
      );
    return fetchBlob(origin, file.sha256);
  };
  return { bundle, graphFiles: (signature) => readGraphFiles(signature, fetchFile) };
}

/** Reads the files of a TF.js graph model: model.json and the binary files it names. */
export async function readGraphFiles(
  signature: SignatureName,
  read: (path: string) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<GraphFiles> {
  const model = JSON.parse(new TextDecoder().decode(await read(`${signature}/model.json`)));
  const manifest = model.weightsManifest as { paths: string[]; weights: GraphFiles["weightSpecs"] }[];
  const paths = manifest.flatMap((group) => group.paths);
  const weights = await Promise.all(paths.map((path) => read(`${signature}/${path}`)));
  return {
    topology: model.modelTopology as GraphFiles["topology"],
    weightSpecs: manifest.flatMap((group) => group.weights),
    weights: weights.map((bytes) => bytes.buffer),
  };
}
