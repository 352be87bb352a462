import { expect, test } from '@jest/globals';
import { anAsk, ask, numberOf } from './an-ask.js';
import { runAdversary } from './run.js';
import { openInMemory } from './stores.js';

const neverSigned = anAsk({ paymaster: numberOf('a/one'), feeGwei: 5, isUnsigned: true });
const inTokens = anAsk({ paymaster: numberOf('a/one'), feeGwei: 3, isToken: true });

// Two organisations promise one nonce, and a contract relays the operation, so that nobody can read whose it is.
test.each([
  { name: 'nothing else', steps: [ask(neverSigned)] },
  { name: 'a token payment before', steps: [ask(inTokens), ask(neverSigned)] },
  { name: 'a token payment at the same moment', steps: [ask(neverSigned, inTokens)] },
])(
  'an operation of another organisation counts in no limit of a sponsorship that was never signed, beside $name',
  async ({ steps }) => {
    const run = await runAdversary(
      [
        ask(anAsk({ paymaster: numberOf('b/one') })),
        // The rules check limits of signed operations only: this one counts in the same budget.
        ask(anAsk({ paymaster: numberOf('a/two'), sender: 0 })),
        ...steps,
        {
          do: 'mine',
          picks: [{ pick: 0, used: 132, call: 'nothing' }],
          delivery: { way: 'relay', fat: 'nothing' },
        },
      ],
      openInMemory,
    );
    expect(run.seen.get('signer failed')).toBe(1);
    expect(run.seen.get('mined sponsored')).toBe(1);
  },
);
