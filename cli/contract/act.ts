import { writeFileSync } from 'node:fs';
import { invalidInput } from '../../core/errors.js';
import { parseAddress } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { withChain } from '../rpc.js';
import { Refused, say, show, type Terminal, unlessYes } from '../terminal.js';
import { priceSteps, firstPossible } from './cost.js';
import { type Facts, listFindings, readFacts, type Wanted } from './facts.js';
import { writeManifests } from './manifests.js';
import { renderPlan, renderSent } from './render.js';
import { safeFile } from './safe-file.js';
import { sendMissing } from './send.js';
import type { Step, Verb } from './steps.js';
import type { Acting, Options } from './verbs.js';
import { parseAmountField, parseTarget, readWallet, type Target } from './wanted.js';

/** The longest that somebody watches one transaction. */
const patienceMs = 300_000;

/** Shows what a verb would send, writes it for a Safe, or sends it. */
export async function act(
  terminal: Terminal,
  { verb, steps: stepsOf }: Acting,
  options: Options,
): Promise<void> {
  const { yes = false, safe, output } = options;
  if (yes && safe !== undefined) throw invalidInput({ field: '--safe', expected: 'left out with --yes' });
  const wallet = options.keyFile === undefined ? undefined : await readWallet(options.keyFile);
  if (yes && wallet === undefined) throw invalidInput({ field: '--key-file', expected: 'given with --yes' });
  const target = await parseTarget(options, wallet && parseAddress(wallet.address));
  const { wanted, confirmations } = target;
  if (options.manifests !== undefined && target.manifest === undefined)
    throw invalidInput({
      field: '--chain',
      expected: 'a manifest with one Chain (examples/chains), with --manifests',
    });
  const maxGasPrice = parseAmountField('--max-gas-price', options.maxGasPrice, 9);
  await withChain(terminal, options, wanted.chainId, async (chain) => {
    const look = async () => {
      const facts = await readFacts(chain, wanted);
      requireSound(wanted, facts, verb);
      const steps = stepsOf(target, options, facts);
      if (yes) for (const step of steps) requireRight(step, wanted, facts);
      return {
        facts,
        steps: verb === 'withdraw' ? await firstPossible(chain, steps, wanted.from, facts) : steps,
      };
    };
    const { facts, steps } = await look();
    if (facts.contract?.isShipped === false && verb !== 'deploy')
      say(
        terminal,
        `${facts.address} runs other code than we ship for this layout and these arguments: do you know whose it is?`,
      );
    if (steps.length === 0) say(terminal, 'nothing to send: it is there already');
    if (verb === 'remove-signer' && steps.length > 0)
      say(terminal, 'What it has signed and nobody has mined is void from then on (docs/key-rotation.md).');
    if (yes && wallet !== undefined) {
      const deps = {
        terminal,
        chain,
        chainId: wanted.chainId,
        maxGasPrice,
        confirmations,
        patienceMs,
        // A contract that belongs to its maker is given away after it was made.
        atMost: verb === 'deploy' ? 2 : 1,
        look,
      };
      const sent = await sendMissing({ ...deps, wallet });
      const after = await readFacts(chain, wanted);
      keepManifests(terminal, target, options, after);
      return show(terminal, output, renderSent(after, sent));
    }
    if (safe !== undefined && steps.length > 0) writeSafeFile(terminal, safe, wanted, steps);
    const costs = await priceSteps(chain, steps, wanted.from, facts);
    show(terminal, output, renderPlan({ wanted, facts, findings: [], steps, costs }));
    if (safe === undefined && steps.length > 0)
      throw unlessYes('sent', 'with --key-file sends it, --safe writes it for a Safe');
  });
}

function keepManifests(
  terminal: Terminal,
  target: Target,
  { manifests }: Options,
  { address, contract }: Facts,
): void {
  if (manifests === undefined || address === undefined || contract === undefined) return;
  writeManifests(terminal, manifests, target, address);
}

/**
 * Only `deploy` works before the contract exists and belongs to its owner. Taking money out and removing a signer always work,
 * also when something is wrong with the contract.
 */
function requireSound(wanted: Wanted, facts: Facts, verb: Verb): void {
  const { contract, address } = facts;
  const [finding] = listFindings(wanted, facts);
  const isForgiven =
    contract?.isOfLayout === true && ['deploy', 'remove-signer', 'unstake', 'withdraw'].includes(verb);
  if (finding !== undefined && !isForgiven) throw new Refused(finding);
  if (verb === 'deploy' || contract !== undefined) return;
  throw new Refused(
    address === undefined
      ? 'the sender has not made a contract yet: deploy it, or name it by --address'
      : `no contract is at ${address}: what is sent there may be lost`,
  );
}

function requireRight({ by, says }: Step, { from, sponsor, owner }: Wanted, { contract }: Facts): void {
  const isRight =
    by === 'anybody' || (by === 'sponsor' ? from === sponsor : contract?.isOwnedBySender !== false);
  if (isRight) return;
  const who = by === 'sponsor' ? `the sponsor ${sponsor}` : `the owner ${owner}`;
  throw new Refused(`${says} has to be sent by ${who}, not by ${from}: --safe writes it for a Safe`);
}

function writeSafeFile(terminal: Terminal, file: string, wanted: Wanted, steps: readonly Step[]): void {
  if (steps.some(({ creates }) => creates === true))
    throw new Refused(
      'a Safe cannot make this contract: send it with a key; it belongs to the owner afterwards',
    );
  const safe = steps.some(({ by }) => by === 'sponsor') ? (wanted.sponsor ?? wanted.owner) : wanted.owner;
  const name = `paymaster contract ${steps[0]?.verb ?? ''}`;
  const batch = safeFile(steps, { chainId: wanted.chainId, safe, name, now: systemClock.now() });
  writeFileSync(file, `${JSON.stringify(batch, undefined, 2)}\n`);
  say(terminal, `${file}: open it in the Transaction Builder of the Safe ${safe}`);
}
