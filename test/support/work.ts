/** The larger of the two inputs that are compared, in sizes of the smaller. */
const sizes = 64;

/**
 * How much more work a run takes when its input is {@link sizes} times as large: about 64 where work is linear, 4,096 where it
 * is quadratic. `size` lies in the middle, eight times the smaller and an eighth of the larger. Both are measured
 * in this process in turn, and the least of many short rounds counts: other load only ever adds to a round. The two
 * sizes are far apart, so that what memory costs, which is up to six times as much for a byte of a large text on machines seen so far,
 * is small compared with a quadratic factor. A figure that looks too large is measured again before it counts.
 */
export function growthOf(runOfSize: (size: number) => () => unknown, size: number): number {
  const small = runOfSize(Math.max(1, Math.floor(size / 8)));
  const large = runOfSize(8 * size);
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

/** As far from linear as from quadratic growth. */
export const mostGrowth = sizes ** 1.5;

const roundMs = 1;
const leastRounds = 1;
const mostRounds = 100;

function millis(run: () => unknown, times: number): number {
  const before = performance.now();
  for (let index = 0; index < times; index += 1) run();
  return performance.now() - before;
}
