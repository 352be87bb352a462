import fc from 'fast-check';
import { isSoak } from '../support/soak-seconds.js';
import { runs, seedOfRun } from '../support/property.js';

/** Takes the steps of a run, and answers how often each thing has happened. Throws when a rule is broken. */
type TakeSteps<Step> = (steps: readonly Step[]) => Promise<{ readonly seen: ReadonlyMap<string, number> }>;

/** Number of runs that share a seed: at most this many runs reproduce a failure. */
const runsPerSeed = 20;

/**
 * Takes runs of random steps until there were `least` steps. A failure prints its seed, and the shortest steps found that fail in
 * the same way; PAYMASTER_TEST_SEED begins with that seed. Prints its progress in `make soak`. Resolves with the number of steps
 * taken and with how often each thing has happened.
 */
export async function campaign<Step>(
  name: string,
  least: number,
  manySteps: fc.Arbitrary<Step[]>,
  run: TakeSteps<Step>,
): Promise<{ readonly steps: number; readonly seen: ReadonlyMap<string, number> }> {
  const seen = new Map<string, number>();
  const first = seedOfRun();
  const begun = Date.now();
  let steps = 0;
  let done = 0;
  const report = (what: string) => {
    if (!isSoak) return;
    const seconds = Math.round((Date.now() - begun) / 1000);
    process.stderr.write(
      `adversary ${name}: ${what}: ${steps} of ${least} steps, ${done} runs, seeds from ${first}, ${seconds} s\n`,
    );
  };
  report('begins');
  for (let seed = first, told = 0; steps < least; seed++) {
    await fc.assert(
      fc.asyncProperty(manySteps, async (chosen) => {
        if (steps >= least) return;
        try {
          for (const [what, count] of (await run(chosen)).seen) seen.set(what, (seen.get(what) ?? 0) + count);
        } catch (error) {
          report(`failed with seed ${seed}`);
          const fewest = await shortened(chosen, error, run);
          throw new Error(
            `${messageOf(error)} within ${steps + chosen.length} steps, after\n${fewest.map((one) => JSON.stringify(one)).join('\n')}`,
            {
              cause: error,
            },
          );
        }
        steps += chosen.length;
        done += 1;
      }),
      // Shrinking by fast-check takes hours at this length: this leaves out pieces instead.
      { ...runs(runsPerSeed), seed, endOnFailure: true },
    );
    if (steps < told + least / 20) continue;
    told = steps;
    report('goes on');
  }
  report('done, no rule was broken');
  return { steps, seen };
}

async function shortened<Step>(
  steps: readonly Step[],
  error: unknown,
  run: TakeSteps<Step>,
): Promise<readonly Step[]> {
  const kind = messageOf(error).slice(0, 12);
  const failsAlike = async (fewer: readonly Step[]) =>
    run(fewer).then(
      () => false,
      (other: unknown) => messageOf(other).startsWith(kind),
    );
  let fewest = steps;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at < fewest.length;) {
      const fewer = fewest.toSpliced(at, size);
      if (await failsAlike(fewer)) fewest = fewer;
      else at += size;
    }
  return fewest;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
