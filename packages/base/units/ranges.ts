/** `4.31 to 4.94 GiB`, or one figure where it is exact. */
export const gibRange = ({
  lowGiB,
  highGiB,
}: {
  readonly lowGiB: number;
  readonly highGiB: number;
}): string =>
  lowGiB === highGiB
    ? `${lowGiB.toFixed(2)} GiB`
    : `${lowGiB.toFixed(2)} to ${highGiB.toFixed(2)} GiB`;

/** `1.6 to 1.9`, or one figure where both are the same. */
export const timesRange = (low: number, high: number): string =>
  low === high ? low.toFixed(2) : `${low.toFixed(2)} to ${high.toFixed(2)}`;
