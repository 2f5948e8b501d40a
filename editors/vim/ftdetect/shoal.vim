" Made by `cargo xtask grammars` from the words of the front ends.
autocmd BufNewFile,BufRead *.m call s:Murphi()
autocmd BufNewFile,BufRead *.pml,*.prom,*.promela,*.prm,*.pr,*.pm,*.spin,*.dpml set filetype=promela
autocmd BufNewFile,BufRead *.vpl set filetype=vpl
autocmd BufNewFile,BufRead *.red set filetype=red
autocmd BufNewFile,BufRead *.xta,*.q set filetype=uppaal
autocmd BufNewFile,BufRead *.bp,*.nbp set filetype=booleanprogram

function! s:Murphi()
  for l:line in getline(1, 60)
    if l:line =~? '^\s*\(--\|const\>\|type\>\|var\>\|ruleset\>\|startstate\>\)'
      set filetype=murphi
      return
    endif
  endfor
endfunction
