import { ranks } from "./ranks";

/** Every feature of servers, in the order of plans. */
export const FEATURES = [ranks] as const;
