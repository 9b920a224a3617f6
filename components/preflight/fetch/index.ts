/** The door of fetching: what a machine lacks of its plan, and why it doesn't come. */
export { AGAIN, explained, isCertain, pullExplained, whyNot } from "./causes";
export { LEFT_OUT } from "./hub";
export { HubUnread, readCachedModel, readHubModel } from "./hubModel";
export { allNeeds, type Needs, readNeeds, SERVER_IMAGE_BYTES } from "./needs";
export { roomDoubt, roomProblem } from "./room";
