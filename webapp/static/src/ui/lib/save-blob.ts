/** Lets a person save a file that the page made. */

/** Long enough for a browser to begin the download. */
const KEEP_MS = 10_000;

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MS);
}
