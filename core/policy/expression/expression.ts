import { checkBool, whyFalse } from './check.js';
import { describeError, EvaluationError, ExpressionError } from './expression-error.js';
import type { StepsLeft } from '../steps-left.js';
import type { NamedMethods } from '../methods/methods.js';
import { parse, walkSyntax, type Syntax } from './parse.js';
import { maxElements, Run, type ExpressionFacts } from './typed.js';

// Guarantees:
// - an expression that was compiled has a type in every part, so nothing in it is misspelt;
// - its numbers are exact; what does not fit 512 bits is an error;
// - all evaluations that share steps take at most those, whatever expressions and operation are;
// - it answers `true` only for an operation for which no part that was evaluated had an error.

export type Expression = {
  /** Whether it needs to know what the operation costs, and so its gas limits. */
  readonly usesCost: boolean;
  readonly evaluate: (facts: ExpressionFacts, left: StepsLeft) => Said;
};

/** What an expression says about an operation; `why` names the part that decided. */
export type Said = { readonly holds: true } | { readonly holds: false; readonly why: string };

/** Throws ExpressionError. */
export function compileExpression(text: string, methods: NamedMethods): Expression {
  const syntax = parse(text);
  const scope = { text, methods, known: new Map() };
  const condition = checkBool(syntax, scope);
  return {
    usesCost: [...walkSyntax(syntax)].some(isCost),
    evaluate(facts, left) {
      const run = new Run(facts, left);
      try {
        if ((facts.calls?.length ?? 0) > maxElements)
          throw new EvaluationError(`the operation makes more than ${maxElements} calls`);
        if (condition.read(run)) return { holds: true };
        // Explaining uses the steps that are left, so a refusal stays within the same bound.
        const why = orText(() => whyFalse(condition, syntax, scope, run));
        return { holds: false, why: shorten(why ?? 'it is false') };
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        return { holds: false, why: `error: ${error.message}` };
      }
    },
  };
}

/** What is wrong with an expression, such as `1:14: …`; undefined when it compiles. */
export function problemOfExpression(text: string, methods: NamedMethods): string | undefined {
  try {
    compileExpression(text, methods);
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return describeError(error, text);
    throw error;
  }
}

/** Whether a text that compiles reads `cost.usd`. */
export function asksForDollars(text: string): boolean {
  return [...walkSyntax(parse(text))].some(
    (part) => part.op === '.' && part.args[1] === 'usd' && isCost(part.args[0]),
  );
}

/** Texts of an expression that may be signatures of methods. */
export function signaturesIn(text: string): readonly string[] {
  try {
    return [...walkSyntax(parse(text))].flatMap(({ op, args }) =>
      op === 'value' && typeof args === 'string' && args.includes('(') ? [args] : [],
    );
  } catch (error) {
    if (error instanceof ExpressionError) return [];
    throw error;
  }
}

function isCost({ op, args }: Syntax): boolean {
  return op === 'id' && args === 'cost';
}

/** Undefined when explaining takes too many steps. */
function orText(explain: () => string): string | undefined {
  try {
    return explain();
  } catch (error) {
    if (error instanceof EvaluationError) return undefined;
    throw error;
  }
}

const maxReasonLength = 400;

function shorten(text: string): string {
  return text.length > maxReasonLength ? `${text.slice(0, maxReasonLength)}…` : text;
}
