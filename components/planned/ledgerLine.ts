export interface LedgerLine {
  readonly name: string;
  readonly gib: number;
  readonly basis: "setting" | "measured" | "default";
  readonly source: string;
}
