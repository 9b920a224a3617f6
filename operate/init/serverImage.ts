/** A server's image as the stack file has it. */
export interface ServerImage {
  readonly image: string;
  readonly versions?: Readonly<Record<string, string>>;
}

/** The command that pins a server's image, or reads the versions inside. */
export const pinsImage = ({ image }: ServerImage): string =>
  `\`serving pin ${image.split("@")[0]} --write\``;
