export { Monitoring } from "./monitoring";
export { monitoringFiles } from "./monitoringFiles";
