import { type ASTVisitor, GraphQLError, type ValidationContext } from 'graphql';
import { isResultUnion, THROW_ON_ERROR } from './throw-on-error.js';

/** A validation rule: @throwOnError only where there is an error to throw. */
export function throwOnErrorRule(context: ValidationContext): ASTVisitor {
  return {
    Directive(node) {
      if (node.name.value !== THROW_ON_ERROR || isResultUnion(context.getType())) return;
      const message = '@throwOnError is only for fields that return a result union.';
      context.reportError(new GraphQLError(message, { nodes: node }));
    },
  };
}
