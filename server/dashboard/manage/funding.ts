import { record } from '../../../core/schema/json-schema.js';
import { formatInstant } from '../../../core/units/time.js';
import { documentBody, endpoint } from '../endpoint.js';
import { newFundingMessage, setFunding } from '../funding.js';
import { time } from '../ledger/schemas.js';
import { exampleAddress, text } from '../record-schemas.js';
import { fundingWalletSchema } from '../schemas.js';
import { nouns } from './nouns.js';
import { change, requirePresent } from './object-changes.js';
import { computeEtag, objectShape } from './record.js';

const noun = nouns.paymasters;
const { schema, example, viewOf } = objectShape(noun);

/** A challenge and its answer. A message is one of the SDK's: of a paymaster the latest counts, from either API. */
export const fundingEndpoints = [
  endpoint({
    operationId: 'createFundingMessage',
    summary: 'Get the message that a funding wallet has to sign (EIP-191); it replaces the one before',
    method: 'post',
    path: '/paymasters/:name/funding/message',
    scope: 'organisation',
    schema: record({ message: text, expiresAt: time }),
    example: {
      message: 'Welcome! Signing this text makes your wallet the funding wallet of a paymaster: …',
      expiresAt: '2026-01-01T00:15:00Z',
    },
    async handle(tools, call) {
      const paymaster = await requirePresent(tools, call, noun);
      const { message, until } = await newFundingMessage(tools, { ...call, paymaster });
      return { data: { message, expiresAt: formatInstant(until) } };
    },
  }),
  endpoint({
    operationId: 'setFunding',
    summary: 'Set the wallet that funds a paymaster: it has signed the latest message',
    method: 'put',
    path: '/paymasters/:name/funding',
    scope: 'organisation',
    body: documentBody(fundingWalletSchema, (parse) => parse.fundingWallet, {
      address: exampleAddress,
      signature: '0x…',
    }),
    errors: {
      404: 'The organisation has no such paymaster.',
      409: 'Another manager, such as a manifest, owns the wallet: `manifest` is the YAML to commit.',
      412: 'If-Match names another object, or an earlier generation.',
    },
    schema,
    example: { ...example, spec: { ...noun.example, funding: { address: exampleAddress } } },
    async handle(tools, call) {
      const paymaster = await requirePresent(tools, call, noun);
      const changed = await setFunding(tools, { ...call, paymaster }, call.body, (funded) =>
        change(tools, call, noun, async ({ labels, spec: shown }) => {
          const used = (shown as { readonly funding?: { readonly message?: unknown } }).funding?.message;
          return { labels, spec: { ...shown, funding: await funded(used) } };
        }),
      );
      const programmed = await tools.programmed.written('Paymaster', changed);
      const data = viewOf(call.principal.tenant, changed);
      return { data, etag: computeEtag(changed), programmed, object: changed };
    },
  }),
];
