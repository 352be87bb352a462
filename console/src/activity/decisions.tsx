import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.js';
import { useLive } from '../live.js';
import { Download } from '../parts/download.js';
import { Card, Note, Shown } from '../parts/parts.js';
import { nameOf, usePaymasters } from '../paymasters.js';
import { route, step } from '../route.js';
import { Filters } from './filters.js';
import { mostFollowed, useFollowed, type Page } from './follow.js';
import { askedBy, timeOf } from './question.js';
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
  const path = () => `/manage/v1/decisions?${new URLSearchParams({ ...askedBy(query), ...timeOf(query) })}`;
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
  const { to } = timeOf(query);
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
  const newest = useLive(`decisions ${key}`, () => pageAt({ ...timeOf(query), limit: 50 }, query));
  // Once somebody pages, the newest page stays as it was: one that moves on would leave a gap before the next.
  const [read, setRead] = useState<readonly Page[]>([]);
  useEffect(() => setRead([]), [key]);
  return (
    <Shown live={newest} isEmpty={({ items }) => items.length === 0} empty={empty}>
      {(first) => {
        const all = read.length > 0 ? read : [first];
        const last = all.at(-1) ?? first;
        return (
          <>
            <DecisionTable
              decisions={all.flatMap(({ items }) => items)}
              nameOfPaymaster={(of) => nameOf(paymasters, of)}
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
    () => timeOf(query).from,
    (from, cursor) => pageAt({ from, limit: 100, ...(cursor && { cursor }) }, query),
  );
  return (
    <>
      <p class="quiet" role="status">
        Following: new decisions appear at the top while this page is in view. The newest {mostFollowed} are
        kept; how each ends is on its own page.
      </p>
      <Shown live={rows} isEmpty={(all) => all.length === 0} empty={empty}>
        {(all) => (
          <DecisionTable decisions={all} nameOfPaymaster={(of) => nameOf(paymasters, of)} isFollowed />
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
  const [error, setError] = useState<string>();
  return (
    <>
      {error !== undefined && <Note kind="error">{error}</Note>}
      <p>
        <button
          type="button"
          onClick={() => void load().then(onLoaded, (cause: Error) => setError(cause.message))}
        >
          Show older ones
        </button>
      </p>
    </>
  );
}
