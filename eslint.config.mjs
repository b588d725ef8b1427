import tseslint from 'typescript-eslint'

export default tseslint.config(
  // Generated code, built code, the file that must run on any Node, a project with packages of its own, and a
  // client of types that a test makes.
  {
    ignores: [
      'lib/',
      '**/dist/',
      'src/abi/',
      'src/model/',
      'dev/bootstrap.js',
      'db/migrations/',
      'bench/ponder/',
      'test/client/',
      'packages/client/src/openapi.ts',
      '.local/',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.check.json', './packages/*/tsconfig.json', './web/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': 'off',
      // What Prettier does not wrap: comments.
      'max-len': [
        'error',
        {
          code: 110,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
          ignoreUrls: true,
        },
      ],
    },
  },
  {
    // Tests read JSON that they just made.
    files: ['**/*.test.ts', 'test/**', 'packages/*/test/**', 'dev/chain.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
    },
  },
  {
    files: [
      '*.mjs',
      '*.mts',
      'dev/*.mjs',
      'docs/guide/*.mjs',
      'test/*.mjs',
      'packages/**/*.mjs',
      'web/build/*.mjs',
      'web/*.mts',
    ],
    ...tseslint.configs.disableTypeChecked,
  },
)
