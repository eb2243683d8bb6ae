# Completion of gemm for fish; gemm completion fish prints it. fish loads it from
# share/fish/vendor_completions.d.

function __gemm_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l prefix (string match -r -- '^--[^=]*=' $current)
    set -l path (string replace -r -- '^--[^=]*=' '' $current)
    for line in ($words "=$current" --generate-bash-completion 2>/dev/null </dev/null)
        switch $line
            case :files
                for candidate in (__fish_complete_path $path)
                    echo "$prefix$candidate"
                end
            case :folders
                for candidate in (__fish_complete_directories $path)
                    echo "$prefix$candidate"
                end
            case :more
            case '*'
                echo $line
        end
    end
end
complete -c gemm -f -a '(__gemm_complete)'
