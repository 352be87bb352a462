import { type Command, Option } from 'commander';
import { Wallet } from 'ethers/wallet';
import { existsSync } from 'node:fs';
import { notAKey, parseKey, readKeyFile } from '../../adapters/signer/file/key-file.js';
import type { Confirmations } from '../../core/chain/chain.js';
import { DomainError, invalidInput, errorMessage, quote } from '../../core/errors.js';
import { type LayoutId, layoutIds } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import {
  type Address,
  checksumExpectation,
  hasWrongChecksum,
  isAddressText,
  parseAddress,
  zeroAddress,
} from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import { parseDecimal, parseEther } from '../../core/units/wei.js';
import { deterministicDeployer } from '../../standalone/dev-chain/transactor.js';
import { readChain } from '../chain-argument.js';
import { parseChainId } from '../chain-id.js';
import { type RpcOptions, withRpc } from '../rpc.js';
import type { Wanted } from './facts.js';

export type ContractOptions = RpcOptions & {
  readonly layout: LayoutId;
  readonly chain: string;
  readonly owner: string;
  readonly signer: string;
  readonly address?: string;
  readonly sponsor?: string;
  readonly tokenAccount?: string;
  readonly from?: string;
};

/** Options that say which contract is meant. */
export function withContract(command: Command): Command {
  return withRpc(command)
    .addOption(
      new Option('--layout <layout>', 'how the contract reads paymasterAndData')
        .choices(layoutIds)
        .makeOptionMandatory(),
    )
    .requiredOption('--chain <chain>', 'id of the chain, or a manifest with one Chain')
    .requiredOption('--owner <address>', 'who administers the contract, e.g. a Safe')
    .requiredOption(
      '--signer <address>',
      'whose signatures it accepts, or the file of its key; never the owner',
    )
    .option('--address <address>', 'the contract; default: where "deploy" puts it')
    .option('--sponsor <address>', 'whose balance, in contracts that keep one per sponsor')
    .option('--token-account <address>', 'whose balance there pays in token mode; default: the owner')
    .option('--from <address>', 'who would send; default: the owner, or whose key is in --key-file');
}

export type Target = {
  readonly wanted: Wanted;
  /** Undefined for a chain that is named by its id. */
  readonly manifest: ReturnType<typeof readChain> | undefined;
  readonly confirmations: Confirmations;
  /** What bundlers ask for, by the Chain or where the coin is ether; undefined where nobody can know. */
  readonly usualStake: bigint | undefined;
  readonly usualDelaySeconds: number;
};

/** What bundlers ask for where the coin is ether (examples/chains). */
const stakeInEther = 10n ** 17n;
/** What bundlers ask for everywhere. */
const daySeconds = 86_400;
/** For a chain that is named by its id alone: more than any of examples/chains asks for. */
const manyConfirmations = 64;

/** `sender` is whose key sends, where one does. Throws INVALID_INPUT, also for a contract that nobody should have. */
export async function parseTarget(options: ContractOptions, sender?: Address): Promise<Target> {
  const isId = /^[0-9]+$/.test(options.chain);
  const manifest = isId ? undefined : readChain(options.chain);
  const spec = manifest?.spec;
  const owner = parseAddressField('--owner', options.owner);
  const signer = await readSigner(options.signer);
  // Anyone who has the signer's key would have everything; it is a hot key.
  if (owner === signer)
    throw invalidInput({ field: '--signer', expected: 'another account than the owner', value: signer });
  if (owner === deterministicDeployer || owner === zeroAddress)
    throw invalidInput({ field: '--owner', expected: 'an account that can send transactions', value: owner });
  const optional = (field: string, text?: string) =>
    text === undefined ? undefined : parseAddressField(field, text);
  const inEther = spec?.nativeCurrency.symbol === 'ETH' ? stakeInEther : undefined;
  return {
    wanted: {
      chainId: spec?.chainId ?? parseChainId(options.chain),
      layout: layouts[options.layout],
      owner,
      signer,
      from: sender ?? optional('--from', options.from) ?? owner,
      tokenAccount: optional('--token-account', options.tokenAccount) ?? owner,
      minTip: BigInt(spec?.minPriorityFeePerGas ?? 0),
      ...given({
        address: optional('--address', options.address),
        sponsor: optional('--sponsor', options.sponsor),
      }),
    },
    manifest,
    confirmations: spec?.confirmations ?? manyConfirmations,
    usualDelaySeconds: spec?.stake?.unstakeDelaySeconds ?? daySeconds,
    usualStake: spec?.stake === undefined ? inEther : parseEther(spec.stake.amount),
  };
}

/** The address of a key, so that nobody has to compute it. */
async function readSigner(text: string): Promise<Address> {
  if (!existsSync(text)) return parseAddressField('--signer', text);
  return parseAddress((await readWallet(text)).address);
}

export function parseAddressField(field: string, text: string): Address {
  if (!isAddressText(text)) throw invalidInput({ field, expected: 'an address', value: quote(text) });
  if (hasWrongChecksum(text))
    throw invalidInput({ field, expected: checksumExpectation, value: quote(text) });
  return parseAddress(text);
}

/** An amount of the coin in wei, e.g. of "0.05"; of gwei with 9 decimals. */
export function parseAmountField(field: string, text: string, decimals = 18): bigint {
  try {
    return parseDecimal(text, decimals);
  } catch {
    throw invalidInput({ field, expected: 'a decimal amount, e.g. 0.05', value: quote(text) });
  }
}

const maxDelaySeconds = 2 ** 32 - 1;

export function parseSecondsField(field: string, text: string): number {
  const seconds = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > maxDelaySeconds)
    throw invalidInput({ field, expected: `seconds from 1 to ${maxDelaySeconds}`, value: quote(text) });
  return seconds;
}

/** The account of a key file, which only its owner may read. Throws INVALID_INPUT, and never quotes the content. */
export async function readWallet(file: string): Promise<Wallet> {
  const text = await readKeyFile(file, 'owner').catch((cause: unknown) => {
    if (cause instanceof DomainError) throw cause;
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${errorMessage(cause)}`, { cause });
  });
  const key = parseKey(text, file);
  try {
    return new Wallet(`0x${Buffer.from(key).toString('hex')}`);
  } catch {
    // Zero, or not below the order of the curve; the message of others might quote it.
    throw notAKey(file);
  }
}
