export { ranks } from "./ranks";
