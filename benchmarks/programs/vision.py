"""Images: a vision transformer, a residual network with augmentation and a moving average, a U-Net."""

from __future__ import annotations

import copy
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.attend, self.dropout = nn.Softmax(dim=-1), nn.Dropout(0.1)
        self.to_qkv, self.to_out = nn.Linear(dim, dim * 3, bias=False), nn.Linear(dim, dim)

    def forward(self, x):
        qkv = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in qkv)
        weights = self.dropout(self.attend(torch.matmul(q, k.transpose(-1, -2)) * self.scale))
        return self.to_out(torch.matmul(weights, v).transpose(1, 2).flatten(2))


class ViT(nn.Module):
    def __init__(self, size=32, patch=4, dim=96, depth=4, heads=4, classes=10):
        super().__init__()
        self.patch = patch
        self.embedding = nn.Sequential(
            nn.LayerNorm(3 * patch * patch), nn.Linear(3 * patch * patch, dim), nn.LayerNorm(dim)
        )
        self.pos_embedding = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.layers = nn.ModuleList(
            nn.ModuleList(
                [
                    Attention(dim, heads),
                    nn.Sequential(
                        nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)
                    ),
                ]
            )
            for _ in range(depth)
        )
        self.head = nn.Linear(dim, classes)

    def forward(self, image):
        patches = F.unfold(image, self.patch, stride=self.patch).transpose(1, 2)
        x = self.embedding(patches)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        x = x + self.pos_embedding[:, : x.shape[1]]
        for attention, feed_forward in self.layers:
            x = attention(x) + x
            x = feed_forward(x) + x
        return self.head(x[:, 0])


@program(steps=40)
def vit(tick, steps):
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    losses = []
    for _ in range(steps):
        images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
        optimizer.zero_grad()
        output = model(images)
        loss = F.cross_entropy(output, labels, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        (output.argmax(1) == labels).float().mean().item()
        tick(sum(losses) / len(losses))
    return model.parameters()


class BasicBlock(nn.Module):
    def __init__(self, inside, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, planes, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(planes), nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or inside != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inside, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.layer1 = self._make_layer(16, 16, 2, 1)
        self.layer2 = self._make_layer(16, 32, 2, 2)
        self.layer3 = self._make_layer(32, 64, 2, 2)
        self.linear = nn.Linear(64, classes)

    def _make_layer(self, inside, planes, count, stride):
        layers = []
        for step in [stride] + [1] * (count - 1):
            layers.append(BasicBlock(inside, planes, step))
            inside = planes
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        return self.linear(F.adaptive_avg_pool2d(out, 1).flatten(1))


class ModelEMA:
    def __init__(self, model, decay=0.99):
        self.ema = copy.deepcopy(model).eval()
        self.updates, self.decay = 0, decay
        for parameter in self.ema.parameters():
            parameter.requires_grad_(False)

    def update(self, model):
        self.updates += 1
        decay = self.decay * (1 - 0.5**self.updates)
        state = model.state_dict()
        for key, value in self.ema.state_dict().items():
            if value.dtype.is_floating_point:
                value *= decay
                value += (1 - decay) * state[key].detach()


class AverageMeter:
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, value, n=1):
        self.val = value
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


def augment(images):
    if torch.rand(1).item() < 0.5:
        images = images.flip(-1)
    dx, dy = torch.randint(-2, 3, (2,)).tolist()
    return torch.roll(images, (dx, dy), dims=(-2, -1))


@program(steps=40)
def resnet_ema(tick, steps):
    model = ResNet()
    ema = ModelEMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    losses = AverageMeter()
    for step in range(steps):
        model.train()
        images, labels = augment(torch.randn(16, 3, 32, 32)), torch.randint(0, 10, (16,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
        optimizer.step()
        optimizer.zero_grad()
        ema.update(model)
        losses.update(loss.item(), images.size(0))
        f"[{step}/{steps}] loss {losses.val:.4f} ({losses.avg:.4f})"
        tick(losses.avg)
    return [*model.parameters(), *ema.ema.parameters()]


class DoubleConv(nn.Sequential):
    def __init__(self, inside, outside):
        super().__init__(
            nn.Conv2d(inside, outside, 3, padding=1, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(inplace=True),
            nn.Conv2d(outside, outside, 3, padding=1, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inc, self.down1, self.down2 = (
            DoubleConv(3, width),
            DoubleConv(width, 2 * width),
            DoubleConv(2 * width, 4 * width),
        )
        self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.conv1 = DoubleConv(4 * width, 2 * width)
        self.up2 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.conv2 = DoubleConv(2 * width, width)
        self.outc = nn.Conv2d(width, 2, 1)

    def join(self, small, skip):
        dy, dx = skip.size(2) - small.size(2), skip.size(3) - small.size(3)
        return torch.cat([skip, F.pad(small, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])], dim=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        x = self.conv1(self.join(self.up1(x3), x2))
        return self.outc(self.conv2(self.join(self.up2(x), x1)))


def dice(found, target, epsilon=1e-6):
    both = 2 * (found * target).sum(dim=(-1, -2))
    total = found.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    total = torch.where(total == 0, both, total)
    return ((both + epsilon) / (total + epsilon)).mean()


@program(steps=40)
def unet(tick, steps):
    model = UNet()
    optimizer = torch.optim.RMSprop(
        model.parameters(), lr=1e-5, weight_decay=1e-8, momentum=0.9, foreach=True
    )
    for _ in range(steps):
        images = torch.randn(4, 3, 50, 50)
        masks = (images.mean(1) > 0).long()
        predicted = model(images)
        loss = F.cross_entropy(predicted, masks)
        wanted = F.one_hot(masks, 2).permute(0, 3, 1, 2).float()
        loss = loss + 1 - dice(F.softmax(predicted, dim=1).float(), wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tick(loss.item())
    return model.parameters()
