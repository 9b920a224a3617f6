import { gb } from "@local-serving/base/units/memory";
import { type DiskNeed, IMAGE_ON_DISK, type Missing, type Needs } from "./needs";

type Sized = Pick<Missing, "bytes" | "estimatedBytes">;

/** What is missing, by kind. */
interface Parts {
  readonly images: readonly Sized[];
  readonly models: readonly Sized[];
  readonly program?: Missing;
}

type Room = Parts & Pick<Needs, "disks">;

/** Says why what is missing doesn't fit on a machine's disks; `undefined` if it fits. */
export function roomProblem(room: Room): string | undefined {
  const full = room.disks.find(({ freeBytes, neededBytes }) => neededBytes > freeBytes);
  return full && lacksRoom(full, room);
}

/** The same where it doesn't fit by an estimate of what has no known size. */
export function roomDoubt(room: Room): string | undefined {
  const full = room.disks.find((disk) => neededOn(disk) > disk.freeBytes);
  return full && lacksRoom(full, room);
}

/** What a disk has to take, estimates included. */
const neededOn = ({ neededBytes, estimatedBytes = 0 }: DiskNeed): number =>
  neededBytes + estimatedBytes;

function lacksRoom(disk: DiskNeed, parts: Parts): string {
  const { paths, freeBytes, estimatedBytes } = disk;
  const needed = neededOn(disk);
  const about = estimatedBytes === undefined ? "" : "about ";
  return `${gb(freeBytes)} of disk are free, ${about}${gb(needed)} are needed (${paths.join(", ")}). Missing: ${partsText(parts)}. Free ${gb(needed - freeBytes)} (\`serving status --leftovers\` lists what nothing uses), or set \`modelCache\` to a folder on another disk.`;
}

function partsText({ images, models, program }: Parts): string {
  const sized = bytesOf(images);
  const estimated = images.reduce((all, { estimatedBytes = 0 }) => all + estimatedBytes, 0);
  return [
    sized > 0 && `${gb(sized)} of images, which take ${IMAGE_ON_DISK} times as much unpacked`,
    estimated > 0 && `about ${gb(estimated)} for images whose size isn't known`,
    models.length > 0 && `${gb(bytesOf(models))} of models`,
    program !== undefined && `${gb(bytesOf([program]))} of ${program.name}`,
  ]
    .filter(Boolean)
    .join("; ");
}

const bytesOf = (parts: readonly Sized[]): number =>
  parts.reduce((all, { bytes = 0 }) => all + bytes, 0);
