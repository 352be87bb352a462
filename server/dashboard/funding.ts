import { randomBytes } from 'node:crypto';
import { fundingMessage, verifyFunding, type FundingTerms } from '../../core/config/funding.js';
import { DomainError } from '../../core/errors.js';
import { objectKey } from '../../core/meta/meta.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { record } from '../../core/schema/json-schema.js';
import { parseAddress } from '../../core/units/address.js';
import { plusMs } from '../../core/units/time.js';
import { currentApiKey } from './auth.js';
import type { Tools } from './deps.js';
import type { PaymasterCall } from './call.js';
import { documentBody, endpoint } from './endpoint.js';
import { unlessDeleted } from './lookups.js';
import { findChain, paymasterWithId } from './paymasters.js';
import { exampleAddress, examplePaymasterId, text } from './record-schemas.js';
import { updatePaymasterSchema, type FundingWallet } from './schemas.js';
import { paymasterIdOfCall, renderPaymaster } from './views.js';

/** How long a funding message can be answered. */
const fundingMessageMs = 15 * 60_000;

/** A newer message replaces the one before: a signature is valid only for the latest. */
export const sendFundingMessage = endpoint({
  operationId: 'sendFundingMessage',
  summary: 'Get the message that a funding wallet has to sign',
  method: 'get',
  path: '/funding-message/:paymasterId',
  scope: 'paymaster',
  message: 'Funding message sent',
  schema: record({ fundingMessage: text }),
  example: { fundingMessage: 'Allow the paymaster shop of acme on chain 31337 to spend this deposit …' },

  async handle(tools, call) {
    const paymasterId = paymasterIdOfCall(call);
    if (call.params['paymasterId'] !== paymasterId) throw new DomainError('NOT_FOUND', 'Paymaster not found');
    const { message } = await newFundingMessage(tools, call);
    return { data: { fundingMessage: message } };
  },
});

export const updatePaymaster = endpoint({
  operationId: 'updatePaymaster',
  summary: 'Set the wallet that funds the paymaster',
  method: 'patch',
  path: '/paymaster',
  scope: 'paymaster',
  wrongToken: 'USER_NOT_FOUND',
  wrongKey: 'USER_NOT_FOUND',
  message: 'Paymaster updated successfully',
  body: documentBody(updatePaymasterSchema, (parse) => parse.updatePaymaster, {
    paymasterId: examplePaymasterId,
    type: 'paymasterFundingId',
    signature: '0x…',
    address: exampleAddress,
  }),
  ...paymasterWithId,

  async handle(tools, call) {
    const { body } = call;
    const paymasterId = paymasterIdOfCall(call);
    // An apiKey of another paymaster than the one named is a wrong apiKey.
    if (body.paymasterId !== paymasterId) throw userNotFound();
    const changed = await setFunding(tools, call, body, (funded) =>
      unlessDeleted(userNotFound, () =>
        tools.writes.change('Paymaster', objectKey(call.paymaster), async ({ spec }, owned) => ({
          ...owned,
          funding: await funded(spec.funding?.message),
        })),
      ),
    );
    const shown = renderPaymaster(changed, await currentApiKey(tools, call.principal.tenant, changed));
    return {
      data: { ...shown, paymasterId },
      programmed: await tools.programmed.written('Paymaster', changed),
      object: changed,
    };
  },
});

type Owned = Pick<PaymasterCall, 'principal' | 'paymaster'>;

/** Replaces the message before. Throws CHAIN_NOT_SUPPORTED. */
export async function newFundingMessage(tools: Tools, call: Owned) {
  const terms = await findTerms(tools, call);
  if (!terms) throw new DomainError('CHAIN_NOT_SUPPORTED', 'Chain ID not supported');
  const time = tools.clock.now();
  const until = plusMs(time, fundingMessageMs);
  const message = fundingMessage({ ...terms, nonce: randomBytes(16).toString('base64url'), time });
  await tools.texts.putText(paymasterIdOfCall(call), message, until);
  return { message, until };
}

type Funded = (usedMessage: unknown) => Promise<Required<NonNullable<Paymaster['spec']['funding']>>>;

/**
 * Makes `address` the funding wallet, if it has signed the live message. `write` is told what to write when it knows the message in the
 * object that it changes, and throws INVALID_SIGNATURE there.
 */
export async function setFunding(
  tools: Tools,
  call: Owned,
  { address, signature }: FundingWallet,
  write: (funded: Funded) => Promise<Paymaster>,
): Promise<Paymaster> {
  const paymasterId = paymasterIdOfCall(call);
  const terms = await findTerms(tools, call);
  const changed = await write(async (usedMessage) => {
    const message = await provenMessage(tools, paymasterId, usedMessage, terms, { address, signature });
    return { address: parseAddress(address), message, signature };
  });
  await forgetMessage(tools, paymasterId, changed);
  return changed;
}

/**
 * The live message, if the address has signed it. Only success uses a message up. The resource itself records that: a
 * message listed in its `funding` has been used, and the version of the write decides between rivals, so that no
 * outage between two stores can make a signature work twice.
 */
async function provenMessage(
  { texts }: Tools,
  paymasterId: string,
  usedMessage: unknown,
  terms: FundingTerms | undefined,
  { address, signature }: FundingWallet,
): Promise<string> {
  const message = await texts.getText(paymasterId);
  const isUsed = message === undefined || message === usedMessage;
  if (isUsed || !terms || !verifyFunding({ ...terms, address, message, signature }).proven)
    throw new DomainError('INVALID_SIGNATURE', 'Invalid signature', {
      problems: [{ field: 'signature', expected: 'that of the latest message, by this address' }],
    });
  return message;
}

async function forgetMessage({ texts, log }: Tools, paymasterId: string, { spec }: Paymaster): Promise<void> {
  try {
    await texts.takeText(paymasterId, spec.funding?.message ?? '');
  } catch (error) {
    // The wallet is set and the message is recorded as used: the caller's request has succeeded.
    log.warn('funding message not removed', { paymasterId, error });
  }
}

/** The terms that a signature is bound to; undefined when the platform has withdrawn the chain or the version. */
async function findTerms(
  tools: Tools,
  { principal, paymaster: { metadata, spec } }: Owned,
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
