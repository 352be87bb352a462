import { exact } from './format.js';
import { ChainCoins, OnChain, TokenName } from './parts/on-chain.js';
import { Badge, Facts, Time } from './parts/parts.js';
import type { Decision } from './records.js';

/** How an operation ended. */
export function Settlement({
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
