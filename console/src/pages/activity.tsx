import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call } from '../api.js';
import { amounts, words } from '../format.js';
import { useLive } from '../live.js';
import { Copy } from '../parts/copy.js';
import { Filter, RangeFilter } from '../parts/filter.js';
import { ChainCoins, OnChain } from '../parts/on-chain.js';
import { Badge, Card, Coins, Facts, Hex, Note, Select, Shown, Time } from '../parts/parts.js';
import { Table } from '../parts/table.js';
import { choicesOf, nameOf, usePaymasters, type Known } from '../paymasters.js';
import { rangeOf } from '../range.js';
import type { Decision, TracedDecision } from '../records.js';
import { choose, hrefOf, route } from '../route.js';
import { Refusal } from '../refusal/refusal.js';
import { callName } from '../refusal/told.js';
import { Settlement } from '../settlement.js';
import { Steps } from '../steps.js';

type Page = Answers['listDecisions'];

export function Activity() {
  const { id } = route.value;
  return id === undefined ? <Decisions /> : <OneDecision key={id} id={id} />;
}

const verdicts = [
  ['', 'All verdicts'],
  ['sponsored', 'Sponsored'],
  ['refused', 'Refused'],
  ['committed', 'Committed (first of two phases)'],
] as const;

function Decisions() {
  const paymasters = usePaymasters();
  const { range = '24h', search = '', ...filters } = route.value.query;
  const key = JSON.stringify(route.value.query);
  // A cursor belongs to one query, its begin included.
  const pageAt = async (from: string, cursor?: string): Promise<Page> => {
    const asked = { ...filters, ...searchOf(search), from, limit: '50', ...(cursor && { cursor }) };
    return { ...(await call<Page>(`/manage/v1/decisions?${new URLSearchParams(asked)}`)), from };
  };
  const newest = useLive(`decisions ${key}`, () => pageAt(rangeOf(range).from));
  const [older, setOlder] = useState<readonly Page[]>([]);
  useEffect(() => setOlder([]), [key]);
  const { verdict = '', paymasterId = '', reason = '' } = filters as Readonly<Record<string, string>>;

  return (
    <>
      <div class="top">
        <h1>Activity</h1>
        <form class="row" onSubmit={(event) => event.preventDefault()}>
          <RangeFilter range={range} />
          <Select
            label="Verdict"
            value={verdict}
            choices={verdicts}
            onChoose={(chosen) => choose({ verdict: chosen, reason: undefined })}
          />
          <Filter label="Paymaster" of="paymasterId" value={paymasterId} choices={choicesOf(paymasters)} />
          <label class="field">
            <span>Account, operation hash or request id</span>
            <input
              type="search"
              value={search}
              onChange={(event) => choose({ search: event.currentTarget.value.trim() })}
            />
          </label>
        </form>
      </div>
      {reason !== '' && (
        <p>
          Only those refused for “{words(reason)}”.{' '}
          <a href={hrefOf('activity', { range, verdict })}>Show all</a>
        </p>
      )}
      <Card title="Decisions, the newest first">
        <Shown
          live={newest}
          isEmpty={({ items }) => items.length === 0}
          empty="Nothing in this time that fits. Choose a longer range or fewer filters; a wallet's first request appears here at once."
        >
          {(first) => {
            const last = older.at(-1) ?? first;
            return (
              <>
                <DecisionTable
                  decisions={[first, ...older].flatMap(({ items }) => items)}
                  nameOfPaymaster={(of) => nameOf(paymasters, of)}
                />
                {last.nextCursor !== null && (
                  <More
                    load={() => pageAt(last.from, last.nextCursor ?? '')}
                    onLoaded={(page) => setOlder([...older, page])}
                  />
                )}
              </>
            );
          }}
        </Shown>
      </Card>
    </>
  );
}

function searchOf(text: string): Readonly<Record<string, string>> {
  if (text === '') return {};
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { sender: text };
  return /^0x[0-9a-f]{64}$/i.test(text) ? { userOpHash: text } : { requestId: text };
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

function DecisionTable({
  decisions,
  nameOfPaymaster,
}: {
  readonly decisions: readonly Decision[];
  readonly nameOfPaymaster: (id: string) => string;
}) {
  return (
    <Table
      caption="Decisions"
      rows={decisions}
      columns={[
        {
          name: 'When',
          of: ({ id, at }) => (
            <a href={hrefOf('activity', {}, id)}>
              <Time>{at}</Time>
            </a>
          ),
        },
        {
          name: 'Verdict',
          of: ({ verdict, reason }) => (
            <>
              <Badge>{verdict}</Badge>{' '}
              {reason !== null && (
                <a href={hrefOf('activity', { ...route.value.query, verdict: 'refused', reason })}>
                  {words(reason)}
                </a>
              )}
            </>
          ),
        },
        { name: 'Calls', of: ({ calls }) => calls.map(callName).join(', ') || '–' },
        {
          name: 'Account',
          of: ({ sender }) => (
            <a href={hrefOf('activity', { ...route.value.query, search: sender })}>
              <Hex>{sender}</Hex>
            </a>
          ),
        },
        { name: 'Paymaster', of: ({ paymasterId }) => nameOfPaymaster(paymasterId) },
        {
          name: 'At most',
          isNumber: true,
          of: ({ maxCost }) => (maxCost === null ? '' : <Coins>{maxCost}</Coins>),
        },
        {
          name: 'Ended',
          of: ({ settlement, verdict }) =>
            settlement === null ? (
              verdict === 'sponsored' && <span class="quiet">not yet</span>
            ) : (
              <Badge of={settlement.success === false ? 'failed' : settlement.outcome}>
                {settlement.success === false ? 'reverted' : settlement.outcome}
              </Badge>
            ),
        },
        {
          name: 'Cost',
          isNumber: true,
          of: ({ settlement }) =>
            settlement?.outcome === 'mined' && <Coins>{settlement.actualGasCost}</Coins>,
        },
      ]}
    />
  );
}

function OneDecision({ id }: { readonly id: string }) {
  const paymasters = usePaymasters();
  const decision = useLive(`decision ${id}`, () =>
    call<TracedDecision>(`/manage/v1/decisions/${encodeURIComponent(id)}`),
  );
  return (
    <>
      <div class="top">
        <h1>One decision</h1>
        <a href={hrefOf('activity')}>All activity</a>
      </div>
      <Shown live={decision}>
        {(one) => (
          <>
            <Refused one={one} paymasters={paymasters.data ?? []} />
            <Card
              title={one.verdict === 'refused' ? `Refused: ${words(one.reason ?? '')}` : words(one.verdict)}
              aside={<Badge>{one.verdict}</Badge>}
            >
              <Facts>
                {[
                  ['When', <Time>{one.at}</Time>],
                  ['Paymaster', <PaymasterLink id={one.paymasterId} all={paymasters.data ?? []} />],
                  ['Chain', one.chainId],
                  [
                    'Account',
                    <OnChain chainId={one.chainId} label="account" isWhole>
                      {one.sender}
                    </OnChain>,
                  ],
                  ['Nonce', <code>{one.nonce}</code>],
                  ['Calls', one.calls.map(callName).join(', ') || '–'],
                  ['Mode', one.mode],
                  [
                    'Costs at most',
                    one.maxCost === null ? '–' : <ChainCoins chainId={one.chainId}>{one.maxCost}</ChainCoins>,
                  ],
                  ['Signature valid until', one.validUntil === null ? '–' : <Time>{one.validUntil}</Time>],
                  ['JSON-RPC method', one.method],
                  ['Request id', <code>{one.callerRequestId ?? one.requestId}</code>],
                  [
                    'Operation hash',
                    one.userOpHash === null ? (
                      'not known until it is mined'
                    ) : (
                      <>
                        <code>{one.userOpHash}</code> <Copy text={one.userOpHash} label="operation hash" />
                      </>
                    ),
                  ],
                ]}
              </Facts>
            </Card>
            <div class="cards">
              <Card title="How it was decided">
                <Steps steps={one.trace} />
              </Card>
              <Card title="How it ended">
                <Settlement decision={one} />
              </Card>
            </div>
          </>
        )}
      </Shown>
    </>
  );
}

function Refused({
  one,
  paymasters,
}: {
  readonly one: TracedDecision;
  readonly paymasters: readonly Known[];
}) {
  const paymaster = paymasters.find(({ paymasterId }) => paymasterId === one.paymasterId);
  if (one.verdict !== 'refused') return null;
  if (paymaster !== undefined) return <Refusal decision={one} paymaster={paymaster} />;
  // The paymaster is gone, or not read yet.
  return one.detail === null ? null : <p>{amounts(one.detail)}</p>;
}

function PaymasterLink({ id, all }: { readonly id: string; readonly all: readonly Known[] }) {
  const found = all.find(({ paymasterId }) => paymasterId === id);
  if (found === undefined) return <code>{id}</code>;
  return <a href={hrefOf('paymaster', {}, found.object)}>{found.name}</a>;
}
