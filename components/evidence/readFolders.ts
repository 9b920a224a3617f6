import { isHere } from "@local-serving/machines/address";
import { homeOn, onMachine } from "@local-serving/machines/home";
import { cacheHere, snapshotOf } from "@local-serving/machines/hubCache";
import { type ModelFiles, readModelFiles } from "@local-serving/machines/modelFiles";
import type { Evidence } from "../planned";
import {
  type AdapterSettings,
  folderOfModel,
  placeOfAdapter,
  type StackSettings,
} from "../settings";

/**
 * Reads the folders that a stack declares as models and adapters, and its adapters in the model
 * cache, on the machine that this runs on. A stack without any has no such evidence.
 */
export function readFolders(settings: StackSettings, home: string): Pick<Evidence, "folders"> {
  const found = Object.entries(settings.machines).flatMap(([name, machine]) => {
    if (!isHere(machine)) return [];
    const place = (path: string) => onMachine(path, { home: homeOn(machine, { home }) });
    const cache = place(machine.modelCache);
    const read = new Map<string, ModelFiles>();
    const remember = (key: string, files: ModelFiles | undefined) =>
      files === undefined || read.set(key, files);
    for (const server of Object.values(machine.inferenceServers)) {
      const folder = folderOfModel(server);
      if (folder !== undefined) remember(folder, readModelFiles(place(folder)));
      for (const adapter of server.adapters)
        remember(placeOfAdapter(adapter), filesOfAdapter(adapter, cache, place));
    }
    return read.size === 0 ? [] : [[name, Object.fromEntries(read)] as const];
  });
  return found.length === 0 ? {} : { folders: Object.fromEntries(found) };
}

/** An adapter that the cache doesn't have yet is not known. */
function filesOfAdapter(
  { path, id, revision }: AdapterSettings,
  cache: string,
  place: (path: string) => string,
): ModelFiles | undefined {
  if (path !== undefined) return readModelFiles(place(path));
  const snapshot = id === undefined ? undefined : snapshotOf(cacheHere(cache), id, revision);
  return snapshot === undefined ? undefined : readModelFiles(snapshot, true);
}
