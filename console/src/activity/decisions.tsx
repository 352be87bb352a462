import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, type Live, useAsked, useLive } from '../api.js';
import { Download } from '../parts/download.js';
import { Card, Note, Shown } from '../parts/parts.js';
import { findName, usePaymasters } from '../paymasters.js';
import type { Decision } from '../records.js';
import { route, step } from '../route.js';
import { askedBy, Filters, toTimeRange } from './filters.js';
import { DecisionTable } from './table.js';

const empty =
  "Nothing in this time that fits. Choose a longer range or fewer filters; a wallet's first request appears here at once.";

/** Every decision that fits the filters of the address. */
export function Decisions() {
  const { query } = route.value;
  const { range, follow } = query;
  // What has ended cannot be followed.
  const mayFollow = range !== 'own' || !query['to'];
  const isFollowed = mayFollow && follow !== undefined;
  const List = isFollowed ? Followed : Paged;
  const path = () =>
    `/manage/v1/decisions?${new URLSearchParams({ ...askedBy(query), ...toTimeRange(query) })}`;
  return (
    <>
      <div class="top">
        <h1>Activity</h1>
        <Filters filters={query} />
      </div>
      <Card
        title="Decisions, the newest first"
        aside={
          <span class="row">
            {mayFollow && (
              <button
                type="button"
                aria-pressed={isFollowed}
                onClick={() => step({ follow: isFollowed ? undefined : 'yes' })}
              >
                Follow
              </button>
            )}
            <Download path={path} file="decisions.csv" />
          </span>
        }
      >
        <List />
      </Card>
    </>
  );
}

/** One page of the list, and its begin, to which a cursor belongs. */
async function pageAt(
  { from, limit, cursor }: { readonly from: string; readonly limit: number; readonly cursor?: string },
  query: Readonly<Record<string, string>>,
): Promise<Page> {
  const { to } = toTimeRange(query);
  const asked = new URLSearchParams({
    ...askedBy(query),
    from,
    ...(to && { to }),
    limit: String(limit),
    ...(cursor && { cursor }),
  });
  return { ...(await call<Page>(`/manage/v1/decisions?${asked}`)), from };
}

function Paged() {
  const paymasters = usePaymasters();
  const { query } = route.value;
  const key = JSON.stringify(query);
  const newest = useLive(`decisions ${key}`, () => pageAt({ ...toTimeRange(query), limit: 50 }, query));
  // Once somebody pages, the newest page stays as it was: one that moves on would leave a gap before the next.
  const [read, setRead] = useState<readonly Page[]>([]);
  useEffect(() => setRead([]), [key]);
  return (
    <Shown live={newest} empty={empty}>
      {(first) => {
        const all = read.length > 0 ? read : [first];
        const last = all.at(-1) ?? first;
        return (
          <>
            <DecisionTable
              decisions={all.flatMap(({ items }) => items)}
              nameOfPaymaster={(of) => findName(paymasters, of)}
            />
            {last.nextCursor !== null && (
              <More
                load={() => pageAt({ from: last.from, limit: 50, cursor: last.nextCursor ?? '' }, query)}
                onLoaded={(page) => setRead([...all, page])}
              />
            )}
          </>
        );
      }}
    </Shown>
  );
}

function Followed() {
  const paymasters = usePaymasters();
  const { query } = route.value;
  const rows = useFollowed(
    JSON.stringify(query),
    () => toTimeRange(query).from,
    (from, cursor) => pageAt({ from, limit: 100, ...(cursor && { cursor }) }, query),
  );
  return (
    <>
      <p class="quiet" role="status">
        Following: new decisions appear at the top while this page is in view. The newest {maxFollowed} are
        kept; how each ends is on its own page.
      </p>
      <Shown live={rows} empty={empty}>
        {(all) => (
          <DecisionTable decisions={all} nameOfPaymaster={(of) => findName(paymasters, of)} isFollowed />
        )}
      </Shown>
    </>
  );
}

function More({
  load,
  onLoaded,
}: {
  readonly load: () => Promise<Page>;
  readonly onLoaded: (page: Page) => void;
}) {
  const { ask, error } = useAsked<void>();
  return (
    <>
      {error !== undefined && <Note kind="error">{error.message}</Note>}
      <p>
        <button type="button" onClick={() => void ask(async () => onLoaded(await load()))}>
          Show older ones
        </button>
      </p>
    </>
  );
}

export type Page = Answers['listDecisions'];

/** Rows that a page which follows keeps: the newest. More than a reader sees, and never more, however long it is open. */
const maxFollowed = 500;
/** Of a round: a search that finds little may answer short pages. */
const maxPages = 10;
const everyMs = 2_000;
/** Replicas write side by side, and `to` is rounded up to a minute: what is a little older may still come. */
const overlapMs = 120_000;

type Kept = { readonly key: string; readonly rows: readonly Decision[]; readonly since: string };

/**
 * New decisions as they come, the newest first. Each round asks from where the last answered one ended, page by page, so that a burst is
 * not cut at one page; a hidden page asks nothing, and what it missed comes when it is seen again.
 */
function useFollowed(
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
      for (let pages = 1; cursor !== null && pages < maxPages && found.length < maxFollowed; pages += 1) {
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
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, maxFollowed);
}
