/** The folder of a task's checkpoints among the browser's files for this site, and the names of its files. */

const FOLDER = "minga-units";
const NAME = /^[0-9a-f]{32}\.(\d+)\.[01]$/;

/** Returns the name of one of a unit's two files. */
export function checkpointName(key: string, lease: number, copy: number): string {
  return `${key.slice(0, 32)}.${lease}.${copy}`;
}

/** Returns the lease in a file's name; null for another file. */
export function leaseOf(name: string): number | null {
  const lease = NAME.exec(name)?.[1];
  return lease === undefined ? null : Number(lease);
}

/** Returns the folder of all tasks; null if the browser has none, as in private windows, or if it was never made. */
export async function checkpointFolder(create: boolean): Promise<FileSystemDirectoryHandle | null> {
  try {
    const root = await navigator.storage.getDirectory();
    return await root.getDirectoryHandle(FOLDER, { create });
  } catch {
    return null;
  }
}

/** Returns the folder of one task. */
export async function taskFolder(task: string, create: boolean): Promise<FileSystemDirectoryHandle | null> {
  try {
    const folder = await checkpointFolder(create);
    return folder && (await folder.getDirectoryHandle(task, { create }));
  } catch {
    return null;
  }
}
