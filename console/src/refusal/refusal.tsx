import { useState } from 'preact/hooks';
import { call, can, useLive } from '../api.js';
import { amounts, words } from '../format.js';
import { Snippet } from '../parts/copy.js';
import { InView, type Said } from '../parts/form.js';
import { OnChain } from '../parts/on-chain.js';
import { Card, Note, Prose } from '../parts/parts.js';
import { type Known, listAllPages } from '../paymasters.js';
import type { Explanation, TracedDecision } from '../records.js';
import { findFix, describeRefusal, nameRefused } from './sentences.js';

/** Why it was refused, what to do, the form that does it, and whether it would pass now. */
export function Refusal({
  decision,
  paymaster,
}: {
  readonly decision: TracedDecision;
  readonly paymaster: Known;
}) {
  const { object } = paymaster;
  const contracts = useLive(`contracts ${object}`, () => listAllPages('contracts', object), 60_000);
  const policies = useLive(`policies ${object}`, () => listAllPages('policies', object), 60_000);
  // Without the names the sentence would change while somebody reads it.
  if (!contracts.data || !policies.data) return <p class="quiet">Loading…</p>;
  const told = nameRefused(decision, paymaster, contracts.data, policies.data);
  const fix = findFix(told);
  const { reason, detail, trace } = decision;
  const remedy = trace.find((step) => step.reason === reason)?.remedy;
  return (
    <Card title="Why it was refused">
      <p class="sentence">{describeRefusal(told)}</p>
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

/** Asks what would be decided now about the same account and methods. Nothing is signed or counted. */
function AskAgain({ decision, paymaster }: { readonly decision: TracedDecision; readonly paymaster: Known }) {
  const [said, setSaid] = useState<Said>();
  const ask = async (): Promise<void> => {
    const { mode, campaign, token } = decision;
    const context = {
      mode: mode ?? 'SPONSORED',
      calculateGasLimits: false,
      ...(campaign !== null && { sponsorshipPolicyId: campaign }),
      ...(mode === 'ERC20' && token !== null && { tokenInfo: { feeTokenAddress: token } }),
    };
    try {
      const userOp = await smallOperation(decision);
      const path = `/manage/v1/paymasters/${paymaster.object}/explain`;
      setSaid(describeAnswer(await call<Explanation>(path, { method: 'POST', body: { userOp, context } })));
    } catch (error) {
      setSaid({ kind: 'error', text: (error as Error).message });
    }
  };
  // Nothing is recorded of what only deploys, and of what could not be read.
  if (decision.calls.length === 0) return null;
  return (
    <>
      <button type="button" onClick={() => void ask()}>
        Would it pass now?
      </button>
      <div class="wide">
        <InView of={said}>
          {said && (
            <Note kind={said.kind}>
              {said.text} Asked with the same account and methods, without their arguments, and the gas of a
              small call.
            </Note>
          )}
        </InView>
      </div>
    </>
  );
}

function describeAnswer({ sponsored, reason, steps }: Explanation): Said {
  if (sponsored === true) return { kind: 'done', text: 'It would pass now.' };
  if (sponsored === null)
    return { kind: 'warn', text: 'All but the webhooks lets it pass now; they were not asked.' };
  const detail = steps.find((step) => step.reason === reason)?.detail;
  const why = [reason && words(reason), detail && amounts(detail)].filter(Boolean).join(': ');
  return { kind: 'error', text: `It would still be refused: ${why}.` };
}

/** Enough for a small call; change them for a larger one. */
export const gas = {
  callGasLimit: '100000',
  verificationGasLimit: '150000',
  preVerificationGas: '60000',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x3b9aca00',
};

/** As SimpleAccount makes its calls. */
export const accountFunctions = [
  'function execute(address dest, uint256 value, bytes func)',
  'function executeBatch(address[] dest, bytes[] func)',
];

/** Calls of the same methods by the same account. Of a decision nobody keeps arguments and gas. */
async function smallOperation({ sender, nonce, calls }: TracedDecision): Promise<object> {
  const { Interface } = await import('ethers/abi');
  const account = new Interface(accountFunctions);
  const [one, ...others] = calls;
  const callData =
    one !== undefined && others.length === 0
      ? account.encodeFunctionData('execute', [one.target, 0, one.selector])
      : account.encodeFunctionData('executeBatch', [
          calls.map(({ target }) => target),
          calls.map(({ selector }) => selector),
        ]);
  return { sender, nonce, initCode: '0x', callData, ...gas };
}
