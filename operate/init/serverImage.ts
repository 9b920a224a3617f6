/** A server's image as the stack file has it. */
export interface ServerImage {
  readonly image: string;
  readonly versions?: Readonly<Record<string, string>>;
}

/** The command that pins a server's image, or reads the versions inside; `key` where it is one of several. */
export const pinsImage = (image: ServerImage, key?: string): string =>
  `\`${pinOfImage(image, key)}\``;

/** The same, as it is typed. */
export const pinOfImage = ({ image }: ServerImage, key?: string): string =>
  `serving pin ${image.split("@")[0]}${key === undefined ? "" : ` --entry inferenceServers.${key}`} --write`;
