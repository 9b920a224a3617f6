export { chatUi } from "./service";
