import { ranks } from "../ranks/ranks";

/** Every feature of servers, in the order of plans. */
export const FEATURES = [ranks] as const;
