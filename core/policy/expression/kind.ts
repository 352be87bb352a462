import { pass, refuse, type Verdict } from '../../refusal.js';
import { boolean, object, text, type Infer } from '../../schema/structural.js';
import { given } from '../../units/given.js';
import { decodedHex } from '../../units/hex.js';
import { toSeconds } from '../../units/time.js';
import type { Mode } from '../../usage/reservation.js';
import type { PolicyFacts, PolicyIdentity, PolicyKind } from '../kind.js';
import { appliesIn, appliesToSchema, createGlance, decideEach, describeDecision } from '../modes.js';
import { priceStale } from '../share-texts.js';
import {
  asksForDollars,
  compileExpression,
  problemOfExpression,
  signaturesIn,
  type Expression,
} from './expression.js';
import { ExpressionError } from './expression-error.js';
import { formatDeclaration, parseMethods } from '../methods/methods.js';
import { maxCharacters } from './parse.js';

const schema = object(
  'A condition on operations, for policyType EXPRESSION: an operation for which it is false, or has an error, is refused.',
  {
    required: {
      text: text(
        'The condition in CEL, e.g. \'calls.all(c, c.method == "transfer(address,uint256)" && c.args.amount <= amount("100", 6))\'. It may name calls (target, value, method, args), cost.native, cost.usd, sender, chain and now; docs/policies.md describes them.',
        { minLength: 1, maxLength: maxCharacters },
      ),
    },
    optional: {
      allowNoCalls: boolean(
        'Whether an operation that makes no call is judged too. Default false: it is refused, because calls.all(…) holds for no calls.',
      ),
      appliesTo: appliesToSchema,
    },
  },
);

type ExpressionSpec = Infer<typeof schema>;
/** `methods`: declarations of those that the text names, with which it was checked. */
type ExpressionConfig = PolicyIdentity & ExpressionSpec & { readonly methods: readonly string[] };
type Expressions = { readonly expressions?: readonly ExpressionConfig[] };
/** Compiled at the first request: a hundred thousand paymasters live in memory, and few of them are asked. */
type Served = ExpressionConfig & { readonly compiled: () => Expression };
type ServedExpressions = { readonly expressions?: readonly Served[] };

/** A condition on the calls, the cost and the sender of an operation. All active expressions have to hold. */
export const expression = {
  member: 'expression',
  schema,
  most: { count: 5, name: 'expressions' },
  problem({ text: source }, { methods }) {
    const problem = problemOfExpression(source, methods);
    return problem && `spec.expression.text ${problem}.`;
  },
  lacks: ({ text: source }, { nativePrice }) =>
    nativePrice === undefined && asksForDollars(source)
      ? 'spec.expression.text asks for cost.usd, which needs spec.nativePrice of the Chain, which only the platform sets.'
      : undefined,
  methodsNamed: (spec) => signaturesIn(spec.text),
  modesOf: ({ appliesTo = ['SPONSORED'] }) => appliesTo,
  compile: ({ spec: { text: source, allowNoCalls, appliesTo }, policyId, name }, { methods }) => ({
    config: {
      policyId,
      name,
      text: source,
      methods: [...new Set(signaturesIn(source))].flatMap((signature) => {
        const method = methods.get(signature);
        return method === undefined ? [] : [formatDeclaration(signature, method)];
      }),
      ...given({ allowNoCalls, appliesTo }),
    },
  }),
  config: {
    write: (expressions): Expressions => (expressions.length === 0 ? {} : { expressions }),
    read: ({ expressions = [] }, { policyId }) => expressions.find((each) => each.policyId === policyId),
    serve: ({ expressions }): ServedExpressions =>
      expressions === undefined ? {} : { expressions: expressions.map(serve) },
  },
  decision: {
    step: 'expressions',
    modes: ['SPONSORED', 'ERC20'],
    applies: ({ expressions }, mode) => expressions?.some((each) => appliesIn(each, mode)) === true,
    decide: (served, facts) => decideThose(served, facts, (each) => !usesCost(each)),
    late: {
      applies: ({ expressions = [] }, mode) =>
        expressions.some((each) => appliesIn(each, mode) && usesCost(each)),
      decide: (served, facts) => decideThose(served, facts, usesCost),
    },
  },
  glance: ({ expressions = [] }, { facts }) =>
    expressions.map((each) => createGlance(each, describePolicy(each, facts))),
  record: {
    render: ({ spec }) => ({ ...spec }),
    answer: {
      required: { text: { type: 'string' } },
      optional: {
        allowNoCalls: { type: 'boolean' },
        appliesTo: { type: 'array', items: { enum: ['SPONSORED', 'ERC20'] satisfies Mode[] } },
      },
    },
  },
} as const satisfies PolicyKind<ExpressionSpec, ExpressionConfig, Expressions, ServedExpressions, never>;

function serve(config: ExpressionConfig): Served {
  let known: Expression | undefined;
  return {
    ...config,
    compiled: () => (known ??= compileExpression(config.text, parseMethods(config.methods))),
  };
}

function decideThose(
  { expressions = [] }: ServedExpressions,
  facts: PolicyFacts,
  isJudged: (each: Served) => boolean,
): Verdict {
  return decideEach(expressions, facts, (each) => {
    if (!isJudged(each)) return pass;
    const why = whyNot(each, facts);
    if (why === undefined) return pass;
    // An amount of dollars that nobody knows is not a refusal: there may be a price in a moment.
    if (each.shadow !== true && lacksPrice(each, facts)) throw priceStale(each.name);
    return refuse('EXPRESSION_REFUSED', `policy "${each.name}": ${why}`);
  });
}

/** Why an expression does not let the operation pass; undefined when it does. */
function whyNot(each: Served, { op, calls, chainId, cost, now, workLeft }: PolicyFacts): string | undefined {
  const decoded = calls.outcome === 'calls' ? calls.calls : undefined;
  if (each.allowNoCalls !== true && (decoded ?? []).length === 0)
    return decoded === undefined ? 'callData does not decode as calls' : 'the operation makes no call';
  return withCompiled(each, ({ evaluate }) => {
    const facts = {
      sender: op.sender,
      chainId,
      nowSeconds: toSeconds(now),
      calls: decoded,
      callData: decodedHex(op.callData, op.callDataBytes),
      cost,
    };
    const said = evaluate(facts, each.shadow === true ? workLeft.shadow : workLeft.enforced);
    return said.holds ? undefined : said.why;
  });
}

function lacksPrice(each: Served, { cost }: PolicyFacts): boolean {
  return cost !== undefined && cost.usdPerNative === undefined && asksForDollars(each.text);
}

function usesCost(each: Served): boolean {
  // One that cannot be read refuses at once.
  return withCompiled(each, (compiled) => (compiled.usesCost ? 'yes' : undefined)) === 'yes';
}

/** A text that a newer operator has accepted may mean nothing to this release: then nothing passes. */
function withCompiled(each: Served, use: (compiled: Expression) => string | undefined): string | undefined {
  try {
    return use(each.compiled());
  } catch (error) {
    if (error instanceof ExpressionError) return `this release cannot read the expression: ${error.message}`;
    throw error;
  }
}

function describePolicy(each: Served, facts: PolicyFacts | undefined) {
  const said = describeDecision(each, facts, each.text, (of) => {
    const why = whyNot(each, of);
    return why === undefined ? pass : refuse('EXPRESSION_REFUSED', why);
  });
  return said.verdict === 'pass' ? { ...said, says: 'holds' } : said;
}
