import { can } from '../api.js';
import { amounts } from '../format.js';
import { useLive } from '../live.js';
import { Snippet } from '../parts/copy.js';
import { OnChain } from '../parts/on-chain.js';
import { Card, Prose } from '../parts/parts.js';
import { listOf, type Known } from '../paymasters.js';
import type { TracedDecision } from '../records.js';
import { AskAgain } from './ask-again.js';
import { fixOf, sentenceOf } from './sentences.js';
import { toldOf } from './told.js';

/** Why it was refused, what to do, the form that does it, and whether it would pass now. */
export function Refusal({
  decision,
  paymaster,
}: {
  readonly decision: TracedDecision;
  readonly paymaster: Known;
}) {
  const { object } = paymaster;
  const contracts = useLive(`contracts ${object}`, () => listOf('contracts', object), 60_000);
  const policies = useLive(`policies ${object}`, () => listOf('policies', object), 60_000);
  // Else the sentence would change before people's eyes.
  if (!contracts.data || !policies.data) return <p class="quiet">Loading…</p>;
  const told = toldOf(decision, paymaster, contracts.data, policies.data);
  const fix = fixOf(told);
  const { reason, detail, trace } = decision;
  const remedy = trace.find((step) => step.reason === reason)?.remedy;
  return (
    <Card title="Why it was refused">
      <p class="sentence">{sentenceOf(told)}</p>
      {detail !== null && <p class="quiet">{amounts(detail)}</p>}
      {remedy !== undefined && (
        <p>
          Fix: <Prose>{remedy}</Prose>
        </p>
      )}
      {reason === 'DEPOSIT_TOO_LOW' && <Deposit {...decision} />}
      <div class="row">
        {fix !== undefined && can() && (
          <a class="button main" href={fix.href}>
            {fix.label}
          </a>
        )}
        <AskAgain decision={decision} paymaster={paymaster} />
      </div>
    </Card>
  );
}

/** Anybody may deposit for a contract: the address, and the command. */
function Deposit({ contract, entryPoint, chainId }: TracedDecision) {
  if (contract === null) return null;
  const command = `cast send ${entryPoint} 'depositTo(address)' ${contract} --value 0.1ether --rpc-url "$RPC_URL" --private-key "$KEY"`;
  return (
    <>
      <p>
        The deposit of{' '}
        <OnChain chainId={chainId} label="contract with the deposit" isWhole>
          {contract}
        </OnChain>{' '}
        on chain {chainId} is topped up by anybody:
      </p>
      <Snippet text={command} label="command that deposits" />
    </>
  );
}
