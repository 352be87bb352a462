import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { amounts, words } from '../format.js';
import { InView } from '../parts/form.js';
import { Note } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import type { Step, TracedDecision } from '../records.js';
import { smallOperation } from './small-operation.js';

type Answer = {
  readonly sponsored: boolean | null;
  readonly reason?: string;
  readonly steps: readonly Step[];
};
type Said = { readonly kind: 'done' | 'warn' | 'error'; readonly text: string };

/** Asks what would be decided now about the same account and methods. Nothing is signed or counted. */
export function AskAgain({
  decision,
  paymaster,
}: {
  readonly decision: TracedDecision;
  readonly paymaster: Known;
}) {
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
      setSaid(sentenceOf(await call<Answer>(path, { method: 'POST', body: { userOp, context } })));
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

function sentenceOf({ sponsored, reason, steps }: Answer): Said {
  if (sponsored === true) return { kind: 'done', text: 'It would pass now.' };
  if (sponsored === null)
    return { kind: 'warn', text: 'All but the webhooks lets it pass now; they were not asked.' };
  const detail = steps.find((step) => step.reason === reason)?.detail;
  const why = [reason && words(reason), detail && amounts(detail)].filter(Boolean).join(': ');
  return { kind: 'error', text: `It would still be refused: ${why}.` };
}
