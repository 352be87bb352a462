import fc from 'fast-check';
import { runs } from '../support/property.js';
import type { Run } from './run.js';
import { manySteps, type Step } from './steps.js';

/**
 * Many runs of random steps. A failure prints the seed, and the fewest steps that were found to fail in the same way. Answers how
 * many steps were taken and how often each thing has happened.
 */
export async function campaign(
  times: number,
  run: (steps: readonly Step[]) => Promise<Run>,
): Promise<{ readonly steps: number; readonly seen: ReadonlyMap<string, number> }> {
  const seen = new Map<string, number>();
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(manySteps, async (chosen) => {
      steps += chosen.length;
      try {
        const done = await run(chosen);
        for (const [name, count] of done.seen) seen.set(name, (seen.get(name) ?? 0) + count);
      } catch (error) {
        const fewest = await shortened(chosen, error, run);
        throw new Error(`${messageOf(error)} after\n${fewest.map((one) => JSON.stringify(one)).join('\n')}`, {
          cause: error,
        });
      }
    }),
    // Shrinking by fast-check takes hours at this length: pieces are left out instead.
    { ...runs(times), endOnFailure: true },
  );
  return { steps, seen };
}

async function shortened(
  steps: readonly Step[],
  error: unknown,
  run: (steps: readonly Step[]) => Promise<Run>,
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
