import { randomBytes } from 'node:crypto';
import { fundingMessage, verifyFunding, type FundingTerms } from '../../core/config/funding-proof.js';
import { DomainError } from '../../core/errors.js';
import { keyOf } from '../../core/meta/meta.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { parseAddress } from '../../core/units/address.js';
import { plusMs } from '../../core/units/time.js';
import { currentApiKey } from './auth.js';
import type { Tools } from './deps.js';
import type { PaymasterCall, Reply } from './endpoint.js';
import { unlessDeleted } from './lookups.js';
import { findChain } from './paymasters.js';
import type { UpdatePaymaster } from './schemas.js';
import { paymasterIdOfCall, renderPaymaster } from './views.js';

/** How long a funding message can be answered. */
const fundingMessageMs = 15 * 60_000;

/** Endpoint 7. A newer message replaces the one before: a signature is valid only for the latest. */
export async function sendFundingMessage(tools: Tools, call: PaymasterCall): Promise<Reply> {
  const paymasterId = paymasterIdOfCall(call);
  if (call.params['paymasterId'] !== paymasterId) throw new DomainError('NOT_FOUND', 'Paymaster not found');
  const terms = await termsOf(tools, call);
  if (!terms) throw new DomainError('CHAIN_NOT_SUPPORTED', 'Chain ID not supported');
  const time = tools.clock.now();
  const message = fundingMessage({ ...terms, nonce: randomBytes(16).toString('base64url'), time });
  await tools.fundingMessages.putFundingMessage(paymasterId, message, plusMs(time, fundingMessageMs));
  return { data: { fundingMessage: message } };
}

/** Endpoint 8. */
export async function updateFunding(tools: Tools, call: PaymasterCall): Promise<Reply> {
  const input = tools.parse.updatePaymaster(call.body);
  const paymasterId = paymasterIdOfCall(call);
  // An apiKey of another paymaster than the one named is a wrong apiKey.
  if (input.paymasterId !== paymasterId) throw userNotFound();
  const terms = await termsOf(tools, call);
  const changed = await unlessDeleted(userNotFound, () =>
    tools.writes.change('Paymaster', keyOf(call.paymaster), async (current, owned) => {
      const message = await provenMessage(tools, paymasterId, current, terms, input);
      const { address, signature } = input;
      return { ...owned, funding: { address: parseAddress(address), message, signature } };
    }),
  );
  await forgetMessage(tools, paymasterId, changed);
  const record = renderPaymaster(changed, await currentApiKey(tools, call.principal.tenant, changed));
  return {
    data: { ...record, paymasterId },
    programmed: await tools.programmed.written('Paymaster', changed),
    object: changed,
  };
}

/**
 * The live message, if the address has signed it. Only success uses a message up. The resource itself records that: a
 * message listed in its `funding` has been used, and the version of the write decides between rivals, so that no
 * outage between two stores can make a signature work twice.
 */
async function provenMessage(
  { fundingMessages }: Tools,
  paymasterId: string,
  current: Paymaster,
  terms: FundingTerms | undefined,
  { address, signature }: UpdatePaymaster,
): Promise<string> {
  const message = await fundingMessages.getFundingMessage(paymasterId);
  const isUsed = message === undefined || message === current.spec.funding?.message;
  if (isUsed || !terms || !verifyFunding({ ...terms, address, message, signature }).proven)
    throw new DomainError('INVALID_SIGNATURE', 'Invalid signature');
  return message;
}

async function forgetMessage(
  { fundingMessages, log }: Tools,
  paymasterId: string,
  { spec }: Paymaster,
): Promise<void> {
  try {
    await fundingMessages.consumeFundingMessage(paymasterId, spec.funding?.message ?? '');
  } catch (error) {
    // The wallet is set and the message is recorded as used: the caller's request has succeeded.
    log.warn('funding message not removed', { paymasterId, error });
  }
}

/** The terms that a signature is bound to; undefined when the chain or the version is no longer offered. */
async function termsOf(
  tools: Tools,
  { principal, paymaster: { metadata, spec } }: PaymasterCall,
): Promise<FundingTerms | undefined> {
  const chain = await findChain(tools, spec.chainId);
  const profile = chain?.profiles.find(({ version }) => version === spec.version);
  return (
    profile && {
      chainId: spec.chainId,
      contract: parseAddress(profile.addresses.sponsorship),
      namespace: principal.tenant,
      paymaster: metadata.name,
    }
  );
}

function userNotFound(): DomainError {
  return new DomainError('USER_NOT_FOUND', 'User not found');
}
