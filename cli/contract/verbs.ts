import type { Command } from 'commander';
import { invalidInput } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import { Refused, type Format } from '../terminal.js';
import type { Facts } from './facts.js';
import {
  authoriseSteps,
  deploySteps,
  depositSteps,
  removeSignerSteps,
  stakeSteps,
  unstakeSteps,
  withdrawSteps,
  type Levels,
  type Step,
  type Verb,
} from './steps.js';
import {
  parseAddressField,
  parseAmountField,
  parseSecondsField,
  type ContractOptions,
  type Target,
} from './wanted.js';

export type Options = ContractOptions & {
  readonly output: Format;
  readonly deposit?: string;
  readonly stake?: string;
  readonly upTo: string;
  readonly unstakeDelay?: string;
  readonly to: string;
  readonly leave: string;
  readonly unaudited?: true;
  readonly yes?: true;
  readonly keyFile?: string;
  readonly safe?: string;
  readonly maxGasPrice: string;
  readonly manifests?: string;
};

export type Acting = {
  readonly verb: Verb;
  readonly description: string;
  readonly withOptions: (command: Command) => Command;
  readonly steps: (target: Target, options: Options, facts: Facts) => readonly Step[];
};

const stakeText =
  'what is to be staked, in the coin of the chain; default: what the Chain says, else 0.1 where the coin is ether';
const receiver = (command: Command) => command.requiredOption('--to <address>', 'who gets it');

const withUnaudited = (command: Command) =>
  command.option('--unaudited', 'allow contracts of this project, which nobody has audited');

const withDelay = (command: Command) =>
  command.option(
    '--unstake-delay <seconds>',
    'how long the stake stays locked, which can only grow; default: what the Chain says, else 86400',
  );

export const withLevels = (command: Command) =>
  withDelay(
    command
      .option('--deposit <amount>', 'what is to be deposited, in the coin of the chain')
      .option('--stake <amount>', stakeText),
  );

/** The commands that change something. Amounts are levels, so that a command that is repeated does nothing. */
export const actingVerbs: readonly Acting[] = [
  {
    verb: 'deploy',
    description: 'Deploy the contract for its owner',
    withOptions: (command) =>
      withUnaudited(command).option(
        '--manifests <folder>',
        'write a Chain with the contract, and a first Paymaster, once it is there',
      ),
    steps: (target, options, facts) => {
      requireDeployable(target, options, facts);
      return deploySteps(target.wanted, facts);
    },
  },
  {
    verb: 'authorise',
    description: 'Let the contract accept the signer',
    withOptions: (command) => command,
    steps: ({ wanted }, _, facts) => authoriseSteps(wanted, facts),
  },
  {
    verb: 'remove-signer',
    description: 'Let the contract no longer accept the signer, where it may have several',
    withOptions: (command) => command,
    steps: (target, _, facts) => {
      requireCall(target, target.wanted.layout.contract.removeSigner !== undefined);
      return removeSignerSteps(target.wanted, facts);
    },
  },
  {
    verb: 'deposit',
    description: 'Pay in what is missing from an amount, by the call of the layout',
    withOptions: (command) =>
      command.requiredOption('--up-to <amount>', 'what is to be there, in the coin of the chain'),
    steps: ({ wanted }, { upTo }, facts) =>
      depositSteps(wanted, { deposit: parseAmountField('--up-to', upTo) }, facts),
  },
  {
    verb: 'stake',
    description: 'Stake and lock what is missing from an amount',
    withOptions: (command) => withDelay(command.option('--up-to <amount>', stakeText)),
    steps: (target, options, facts) => {
      requireCall(target, target.wanted.layout.contract.stake !== undefined);
      return stakeSteps(target.wanted, stakeLevels(target, options, '--up-to'), facts);
    },
  },
  {
    verb: 'unstake',
    description: 'Unlock the stake; after its delay, take it out',
    withOptions: receiver,
    steps: (target, { to }, facts) => {
      requireCall(target, target.wanted.layout.contract.stake !== undefined);
      return unstakeSteps(target.wanted, parseAddressField('--to', to), facts);
    },
  },
  {
    verb: 'withdraw',
    description: 'Take out what is above an amount',
    withOptions: (command) =>
      receiver(command).requiredOption('--leave <amount>', 'what is to stay, in the coin of the chain'),
    steps: (target, { to, leave }, facts) => {
      const { wanted } = target;
      requireCall(target, wanted.layout.contract.withdrawals(wanted.owner, 0n, wanted.owner).length > 0);
      return withdrawSteps(wanted, parseAddressField('--to', to), parseAmountField('--leave', leave), facts);
    },
  },
];

function requireCall({ wanted }: Target, isThere: boolean): void {
  if (isThere) return;
  throw new Refused(
    `contracts of ${wanted.layout.id} have no call in common that does this: use the one that yours exposes`,
  );
}

/** What is wanted of a contract in all. */
export function parseLevels(target: Target, options: Options): Levels {
  const isStaked = target.wanted.layout.contract.stake?.isNeeded === true;
  return {
    ...given({
      deposit: options.deposit === undefined ? undefined : parseAmountField('--deposit', options.deposit),
    }),
    ...(isStaked || options.stake !== undefined
      ? stakeLevels(target, { ...options, ...given({ upTo: options.stake }) }, '--stake')
      : { unstakeDelaySeconds: 0 }),
  };
}

function stakeLevels(
  { usualStake, usualDelaySeconds }: Target,
  { upTo, unstakeDelay }: Partial<Pick<Options, 'upTo' | 'unstakeDelay'>>,
  field: string,
): Levels {
  const stake = upTo === undefined ? usualStake : parseAmountField(field, upTo);
  if (stake === undefined)
    throw invalidInput({
      field,
      expected: 'what bundlers ask for on this chain, or --chain a manifest that says it (examples/chains)',
    });
  const unstakeDelaySeconds =
    unstakeDelay === undefined ? usualDelaySeconds : parseSecondsField('--unstake-delay', unstakeDelay);
  return { stake, unstakeDelaySeconds };
}

/** The dev chain: its keys are public, and so is its money. */
const devChainId = 31337;

function requireDeployable({ wanted }: Target, { unaudited }: Options, { contract }: Facts): void {
  if (contract !== undefined) return;
  const { artifact, source } = wanted.layout.contract;
  if (artifact === undefined) throw new Refused(`deploy it yourself: ${source}`);
  if (artifact.isAudited || unaudited === true || wanted.chainId === devChainId) return;
  const other = source === undefined ? '' : `. Or deploy ${source}`;
  throw new Refused(
    `${artifact.file} is a contract of this project, and not audited: --unaudited deploys it all the same${other}`,
  );
}
