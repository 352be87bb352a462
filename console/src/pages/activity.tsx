import { Decisions } from '../activity/decisions.js';
import { call, useLive } from '../api.js';
import { amounts, exact, words } from '../format.js';
import { Copy } from '../parts/copy.js';
import { ChainCoins, OnChain, TokenName } from '../parts/on-chain.js';
import { Badge, Card, Facts, Shown, Time } from '../parts/parts.js';
import { type Known, usePaymasters } from '../paymasters.js';
import type { Decision, TracedDecision } from '../records.js';
import { Refusal } from '../refusal/refusal.js';
import { callName } from '../refusal/sentences.js';
import { pageHref, route } from '../route.js';
import { Steps } from '../steps.js';

export function Activity() {
  const { id } = route.value;
  return id === undefined ? <Decisions /> : <OneDecision key={id} id={id} />;
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
        <a href={pageHref('activity')}>All activity</a>
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
  return <a href={pageHref('paymaster', {}, found.object)}>{found.name}</a>;
}

/** How an operation ended. */
function Settlement({
  decision: { verdict, settlement, validUntil, chainId },
}: {
  readonly decision: Decision;
}) {
  if (verdict === 'refused') return <p class="quiet">Nothing was signed, so nothing can end.</p>;
  if (settlement === null)
    return (
      <p class="quiet">
        Open: the operation can still be mined
        {validUntil === null ? (
          ''
        ) : (
          <>
            , until <Time>{validUntil}</Time>
          </>
        )}
        . Its most expensive cost is reserved until then.
      </p>
    );
  const { outcome, at, transactionHash, blockNumber, actualGasCost, actualGasUsed, success, token } =
    settlement;
  if (outcome !== 'mined')
    return (
      <p>
        {outcome === 'expired'
          ? 'It was never mined with our signature; its reserved amounts are free again.'
          : 'Another operation used its nonce; its reserved amounts are free again.'}{' '}
        <Time>{at}</Time>
      </p>
    );
  return (
    <Facts>
      {[
        ['Mined', <Time>{at}</Time>],
        [
          'The call',
          success === false ? <Badge of="failed">reverted</Badge> : <Badge of="pass">succeeded</Badge>,
        ],
        ['Cost', <ChainCoins chainId={chainId}>{actualGasCost}</ChainCoins>],
        ['Gas used', exact(actualGasUsed)],
        [
          'Paid by the account',
          token === null ? (
            'nothing'
          ) : (
            <>
              {token.rendered ?? token.amount} <TokenName address={token.address} chainId={chainId} />
            </>
          ),
        ],
        [
          'Block',
          <OnChain kind="block" chainId={chainId} label="block" isWhole>
            {blockNumber}
          </OnChain>,
        ],
        [
          'Transaction',
          <OnChain kind="tx" chainId={chainId} label="transaction" isWhole>
            {transactionHash}
          </OnChain>,
        ],
      ]}
    </Facts>
  );
}
