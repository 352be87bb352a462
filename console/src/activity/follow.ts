import { useRef } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { useLive, type Live } from '../live.js';
import type { Decision } from '../records.js';

export type Page = Answers['listDecisions'];

/** Rows that a page which follows keeps: the newest. More than a reader sees, and never more, however long it is open. */
export const mostFollowed = 500;
/** Of a round: a search that finds little may answer short pages. */
const mostPages = 10;
const everyMs = 2_000;
/** Replicas write side by side, and `to` is rounded up to a minute: what is a little older may still come. */
const overlapMs = 120_000;

type Kept = { readonly key: string; readonly rows: readonly Decision[]; readonly since: string };

/**
 * New decisions as they come, the newest first. Each round asks from where the last answered one ended, page by page, so that a burst is
 * not cut at one page; a hidden page asks nothing, and what it missed comes when it is seen again.
 */
export function useFollowed(
  key: string,
  begin: () => string,
  ask: (from: string, cursor?: string) => Promise<Page>,
): Live<readonly Decision[]> {
  const kept = useRef<Kept | undefined>(undefined);
  return useLive(
    `follow ${key}`,
    async () => {
      const last = kept.current?.key === key ? kept.current : undefined;
      const from = last?.since ?? begin();
      const first = await ask(from);
      const found = [...first.items];
      let cursor = first.nextCursor;
      for (let pages = 1; cursor !== null && pages < mostPages && found.length < mostFollowed; pages += 1) {
        const { items, nextCursor } = await ask(first.from, cursor);
        found.push(...items);
        cursor = nextCursor;
      }
      const rows = newest([...(last?.rows ?? []), ...found]);
      // Until then everything is known; a round that fails asks again from where it began.
      kept.current = { key, rows, since: new Date(Date.parse(first.to) - overlapMs).toISOString() };
      return rows;
    },
    everyMs,
  );
}

/** Each once, as it was answered last. Ids are in the order of time. */
function newest(decisions: readonly Decision[]): readonly Decision[] {
  const byId = new Map(decisions.map((one) => [one.id, one]));
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, mostFollowed);
}
