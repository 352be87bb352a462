/** Prints one line per step as it ends and remembers whether all were well. */
export type Report = {
  /** Runs a step; what it answers is shown behind its name. A step that throws is printed and ends the run. */
  step(name: string, run: () => Promise<string | undefined> | string | undefined): Promise<void>;
  section(name: string): void;
  /** Records a step that could not be tried here, and why. That is not a success. */
  skip(name: string, why: string): void;
  readonly totals: () => { readonly passed: number; readonly failed: number; readonly skipped: number };
};

export class StepFailed extends Error {}

export function createReport(print: (line: string) => void, now: () => number): Report {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  return {
    section: (name) => print(`\n== ${name}`),
    skip(name, why) {
      skipped += 1;
      print(`skip  ${name}: ${why}`);
    },
    async step(name, run) {
      const startedAt = now();
      try {
        const detail = await run();
        passed += 1;
        print(`ok    ${name}${detail === undefined ? '' : `: ${detail}`} (${seconds(now() - startedAt)})`);
      } catch (error) {
        failed += 1;
        print(`FAIL  ${name} (${seconds(now() - startedAt)})`);
        print(indent(error instanceof Error ? error.message : String(error)));
        throw new StepFailed(name, { cause: error });
      }
    },
    totals: () => ({ passed, failed, skipped }),
  };
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const indent = (text: string): string => text.replaceAll(/^/gm, '      ');
