/**
 * How much more work a run takes when its input is sixteen times as large: about 16 where work is linear, 256 where it
 * is quadratic. `size` lies between the two sizes, four times the smaller and a quarter of the larger. Both are measured
 * in this process in turn, and the least of many short rounds counts: other load only ever adds to a round. The two
 * sizes are far apart, so that the memory and collector costs of large texts are small compared with a quadratic factor. A
 * figure that looks too large is measured again before it counts.
 */
export function growthOf(runOfSize: (size: number) => () => unknown, size: number): number {
  const small = runOfSize(Math.max(1, Math.floor(size / 4)));
  const large = runOfSize(4 * size);
  return ratioOf(large, small, mostGrowth);
}

/** How many times as much work the first run takes as the second, measured as {@link growthOf} does: again when it is `most` or more. */
export function ratioOf(costly: () => unknown, ordinary: () => unknown, most: number): number {
  for (let warm = 0; warm < 3; warm += 1) millis(costly, 1);
  const times = Math.max(1, Math.ceil(roundMs / Math.max(0.001, millis(costly, 1))));
  let leastCostly = Number.POSITIVE_INFINITY;
  let leastOrdinary = Number.POSITIVE_INFINITY;
  for (let round = 0; round < mostRounds; round += 1) {
    leastOrdinary = Math.min(leastOrdinary, millis(ordinary, times));
    leastCostly = Math.min(leastCostly, millis(costly, times));
    if (round < leastRounds) continue;
    const ratio = leastCostly / leastOrdinary;
    // So far above the bound that no measurement changes it.
    if (ratio < most || ratio > 8 * most) break;
  }
  return leastCostly / leastOrdinary;
}

/** Twice the input may take 2.5 times the work, so sixteen times the input its fourth power. */
export const mostGrowth = 2.5 ** 4;

const roundMs = 1;
const leastRounds = 5;
const mostRounds = 100;

function millis(run: () => unknown, times: number): number {
  const before = performance.now();
  for (let index = 0; index < times; index += 1) run();
  return performance.now() - before;
}
