import './look/look.css';
import './shell/shell.css';

import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { router } from './router.js';
import { queryClient } from './server/queries.js';
import { applyChosenTheme } from './shell/theme.js';

applyChosenTheme();

const container = document.getElementById('console');
if (container)
  createRoot(container).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
