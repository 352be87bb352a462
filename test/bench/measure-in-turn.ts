import type { RequestShape } from './fixture.js';
import type { Measurement, Subject } from './subject-process.js';
import { verifySubject } from './verify.js';

/**
 * Two processes of one build differ by some percent for as long as they live, since their memory lies differently. So they are
 * started again after this many rounds.
 */
const roundsPerProcess = 3;

/** Measures servers window by window in turn, so that a busy moment hits all of them. Answers the windows of each. */
export async function measureInTurn<Name extends string>(
  makeSubjects: () => Readonly<Record<Name, Subject>>,
  {
    rounds,
    shape,
    warm,
    measure,
  }: {
    readonly rounds: number;
    readonly shape: RequestShape;
    /** Before anything is measured: V8 compiles for the first tens of thousands of requests, the longer the more code a server has. */
    readonly warm?: (subject: Subject) => Promise<void>;
    readonly measure: (subject: Subject) => Promise<Measurement>;
  },
): Promise<Readonly<Record<Name, readonly Measurement[]>>> {
  const windows = {} as Record<Name, Measurement[]>;
  for (let round = 0; round < rounds; round += roundsPerProcess) {
    const made = makeSubjects();
    const names = Object.keys(made) as Name[];
    const subjects = names.map((name) => made[name]);
    try {
      await Promise.all(subjects.map((subject) => subject.start()));
      if (shape.ask === undefined)
        for (const { name, port } of subjects) await verifySubject(name, port, shape, 1);
      for (const subject of subjects) {
        await warm?.(subject);
        await measure(subject);
      }
      for (let next = round; next < Math.min(round + roundsPerProcess, rounds); next += 1)
        for (const name of names) (windows[name] ??= []).push(await measure(made[name]));
    } finally {
      await Promise.all(subjects.map((subject) => subject.stop()));
    }
  }
  return windows;
}
