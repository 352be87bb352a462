import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.js';

// The drawings of states in comments of the sources, compared with what the code does.

const line = /^ \* {5}(\S.*?) +── (.+?) ─+► (.+)$/gm;

/** The arrows of the drawing in a file, sorted. `a, b ── x, y ──► c` is four of them. */
export function drawnIn(path: string): readonly string[] {
  const lines = readFileSync(join(repositoryRoot, path), 'utf8').matchAll(line);
  return [...lines]
    .flatMap(([, froms = '', events = '', to = '']) =>
      froms.split(', ').flatMap((from) => events.split(', ').map((event) => arrow(from, event, to))),
    )
    .toSorted();
}

export function arrow(from: string, event: string, to: string): string {
  return `${from} ── ${event} ──► ${to}`;
}

/**
 * The arrows that the code takes: each event happens in each state, or in those that `only` names, and changes it or leaves it as it
 * is. Sorted, as in {@link drawnIn}.
 */
export async function walked<World>(machine: {
  readonly states: Readonly<Record<string, () => World | Promise<World>>>;
  readonly events: Readonly<Record<string, (world: World) => unknown>>;
  readonly stateOf: (world: World) => string | Promise<string>;
  readonly only?: Readonly<Record<string, readonly string[]>>;
}): Promise<readonly string[]> {
  const { states, events, stateOf, only = {} } = machine;
  const arrows: string[] = [];
  for (const [from, make] of Object.entries(states))
    for (const [event, happen] of Object.entries(events)) {
      if (only[event]?.includes(from) === false) continue;
      const world = await make();
      const begins = await stateOf(world);
      if (begins !== from) throw new Error(`the test begins in ${begins} instead of ${from}`);
      await happen(world);
      const to = await stateOf(world);
      if (to !== from) arrows.push(arrow(from, event, to));
    }
  return arrows.toSorted();
}
