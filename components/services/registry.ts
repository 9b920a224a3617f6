import { bridge } from "./bridge";
import { chatUi } from "./chat-ui";
import { simpleServer } from "./simple-server";

/** Every service, in the order of plans and of the stack file's reference. */
export const SERVICES = [simpleServer, bridge, chatUi] as const;

type Kind = (typeof SERVICES)[number];

/** A service's name on the command line, and the role of its container. */
export type ServiceName = Kind["name"];

/** What a container of ours is. */
export type ContainerRole = "inference-server" | ServiceName;

/** The service of this name; `undefined` for a server or anything else. */
export const serviceNamed = (name: string): Kind | undefined =>
  SERVICES.find((each) => each.name === name);
