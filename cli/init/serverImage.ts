/** A server's image as the stack file has it. */
export interface ServerImage {
  readonly image: string;
  readonly versions?: Readonly<Record<string, string>>;
}

/** Whether an image is one that Podman built or loaded on the machine: it calls them so. */
export const isOfPodman = (image: string): boolean => image.startsWith("localhost/");

/** Whether a registry can be asked for an image. */
export const isInRegistry = (image: string): boolean => image.includes("/") && !isOfPodman(image);

/**
 * The command that pins a server's image, or reads the versions inside; `key` where it is one of
 * several. A digest that nobody chose here is pinned itself, and no tag's newest.
 */
export const pinsImage = ({ image, versions }: ServerImage, key?: string): string =>
  `\`serving pin ${versions === undefined ? image : image.split("@")[0]}${key === undefined ? "" : ` --entry inferenceServers.${key}`} --write\``;
