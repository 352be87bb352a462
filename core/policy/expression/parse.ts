import { Environment, ParseError, type ASTNode } from '@marcbachmann/cel-js';
import { ExpressionError } from './expression-error.js';

/** An expression as it is written; nothing of it has a type yet. `start` and `end` are offsets in its text. */
export type Syntax = ASTNode;

/** Longest expression. */
export const maxCharacters = 1_000;
/** Most parts of an expression: each name, literal, operator, member, index and call is one. */
const maxNodes = 100;
/** Parentheses, brackets and members inside each other. */
const maxDepth = 32;

const environment = new Environment({ limits: { maxAstNodes: maxNodes, maxDepth } });

/** Parses CEL; the checker takes only a part of it. Throws ExpressionError. */
export function parse(text: string): Syntax {
  if (text.length > maxCharacters)
    throw new ExpressionError(`an expression has at most ${maxCharacters} characters`, maxCharacters);
  try {
    return environment.parse(text).ast;
  } catch (error) {
    if (error instanceof ParseError) throw new ExpressionError(error.summary, error.range?.start ?? 0);
    throw error;
  }
}

/** A part of an expression and everything in it. */
export function* walkSyntax(part: unknown): Generator<Syntax> {
  if (Array.isArray(part)) for (const each of part) yield* walkSyntax(each);
  if (!isSyntax(part)) return;
  yield part;
  yield* walkSyntax(part.args);
}

function isSyntax(part: unknown): part is Syntax {
  return typeof part === 'object' && part !== null && 'op' in part;
}
