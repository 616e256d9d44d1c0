import type { ValidationRule } from 'graphql';
import { throwOnErrorRule } from '../resolvers/throw-on-error-rule.js';
import { selectionLimitsRule } from './selection-limits-rule.js';

/** What every document must keep to beside GraphQL's own rules, at whichever door. */
export const hostpoolRules: ValidationRule[] = [throwOnErrorRule, selectionLimitsRule];
