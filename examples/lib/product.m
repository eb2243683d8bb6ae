% Octave's products by libgemm:
%
%     LD_PRELOAD=$PWD/bin/lib/libgemm.so octave-cli examples/lib/product.m
a = rand(120, 80);
b = rand(80, 90);
c = a * b;
for i = [1 60 120]
  for j = [1 45 90]
    assert(abs(c(i, j) - sum(a(i, :)' .* b(:, j))) <= 1e-13);
  end
end
assert(norm(single(a) * single(b) - c) <= 1e-2);
disp("a * b is right");
