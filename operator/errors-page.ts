import { errorCodes, type RestRow, type RpcRow } from '../core/error-codes.js';
import { errorReasons } from '../core/error-reasons.js';
import { refusals } from '../core/refusal.js';
import { renderTable } from './tables.js';

/** `docs/errors.md`: every error, reason and refusal, and what to do about it. */
export function renderErrors(): string {
  const codes = Object.entries<Answered>(errorCodes).map(([code, { rest, rpc, text, remedy }]) => [
    `\`${code}\``,
    rest === undefined ? '–' : String(rest.status),
    rpc === undefined ? '–' : `${rpc.code} (${rpc.status})`,
    rpc === undefined ? '–' : rpc.retryable ? 'yes' : 'no',
    text,
    remedy,
  ]);
  return [
    introduction,
    renderTable(['error', 'REST', 'JSON-RPC', 'retryable', 'meaning', 'what to do'], codes),
    reasons,
    renderTable(['reason', 'meaning', 'what to do'], explained(errorReasons)),
    refused,
    renderTable(['reason', 'meaning', 'what to do'], explained(refusals)),
  ].join('\n');
}

type Explained = { readonly text: string; readonly remedy?: string };
type Answered = Required<Explained> & { readonly rest?: RestRow; readonly rpc?: RpcRow };

function explained(rows: Readonly<Record<string, Explained>>): readonly (readonly string[])[] {
  return Object.entries(rows).map(([name, { text, remedy = '–' }]) => [`\`${name}\``, text, remedy]);
}

const introduction = `<!-- Generated from core/error-codes.ts, core/error-reasons.ts and core/refusal.ts. Do not edit: run \`make generate\`. -->

# Errors

What each error and refusal means, and what its caller can do about it.

REST answers the HTTP status with \`{"statusCode", "message"}\`. JSON-RPC answers \`error.code\`, with the HTTP status in parentheses for a single call, and \`error.data\` says \`reason\`,
\`requestId\` and \`retryable\`. A dash: this side never answers it. Requests that name an EntryPoint (ERC-7677, and \`pm_sponsorUserOperation [operation, entryPoint, context]\`)
get every error with status 200, since their clients read no other, and so does a batch.
`;

const reasons = `## Reasons

\`error.data.reason\` of JSON-RPC is one of these where it tells more than the error itself. Otherwise it is the name of the error, a refusal, or the reason of a
[condition](conditions.md).
`;

const refused = `## Refusals

Why an operation is not signed: in \`X-Sponsorship-Reason\`, \`result.reason\`, \`error.data.reason\`, and with its remedy in \`pm_explainSponsorship\`.
`;
